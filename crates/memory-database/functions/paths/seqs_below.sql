-- The seqs of the messages right below a place, deleted ones included: on its branch, and on
-- branches that fork off there.
CREATE OR REPLACE FUNCTION recollect.seqs_below(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS TABLE (seq bigint)
LANGUAGE sql STABLE AS $$
    WITH child (branch) AS (
        SELECT p_branch
        UNION ALL
        SELECT b.branch FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread
            AND b.parent_branch = p_branch AND b.fork_depth = p_depth
    )
    SELECT m.seq
    FROM child
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread
        AND m.branch = child.branch AND m.depth = p_depth + 1 AND m.deleted_at IS NULL
    UNION ALL
    SELECT m.seq
    FROM child
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread
        AND m.branch = child.branch AND m.depth = p_depth + 1 AND m.deleted_at IS NOT NULL
$$;
