-- The seq of the last message at a place, which may be deleted; null without one.
CREATE OR REPLACE FUNCTION recollect.seq_at(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT max(at.seq)
    FROM (
        SELECT m.seq FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = p_branch AND m.depth = p_depth AND m.deleted_at IS NULL
        UNION ALL
        SELECT m.seq FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = p_branch AND m.depth = p_depth AND m.deleted_at IS NOT NULL
    ) AS at
$$;
