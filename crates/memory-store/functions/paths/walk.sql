-- The way from a place back to the root: of each branch the depths over `above`,
-- up to `depth`.
CREATE OR REPLACE FUNCTION recollect.path(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS TABLE (branch integer, above integer, depth integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_up integer;
    v_fork integer;
BEGIN
    branch := p_branch;
    depth := p_depth;
    WHILE branch > 0 LOOP
        SELECT COALESCE(b.parent_branch, 0), b.fork_depth INTO STRICT v_up, v_fork
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = path.branch;
        above := v_fork;
        RETURN NEXT;
        branch := v_up;
        depth := LEAST(v_fork, depth);
    END LOOP;
END;
$$;
