-- The path from a place back to the root: for each branch on it, the messages of that
-- branch with above < depth ≤ depth. It ends where a branch does not exist: the thread was
-- cleared after the place had been read.
CREATE OR REPLACE FUNCTION recollect.path(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS TABLE (branch integer, above integer, depth integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_parent record;
BEGIN
    branch := p_branch;
    depth := p_depth;
    WHILE branch > 0 LOOP
        SELECT p.branch, p.fork_depth, p.depth INTO v_parent
        FROM recollect.parent_of_branch(p_tenant, p_thread, path.branch, path.depth) p;
        EXIT WHEN NOT FOUND;
        above := v_parent.fork_depth;
        RETURN NEXT;
        branch := v_parent.branch;
        depth := v_parent.depth;
    END LOOP;
END;
$$;
