-- Release 1.0.0 calls this before it reads what extraction has not read, and takes that from
-- branches.extract_seq: this is where the summary of the path to the head ends then, too.
CREATE OR REPLACE FUNCTION recollect.realign_summary(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_changed boolean;
BEGIN
    v_changed := recollect.align_summary(p_tenant, p_actor, p_thread);
    UPDATE recollect.branches b
    SET extract_seq = kept.seq
    FROM (
        SELECT part.branch, COALESCE(last.seq, 0) AS seq
        FROM recollect.threads t
        CROSS JOIN LATERAL recollect.path_arrays(p_tenant, p_thread, t.head_branch, t.head_depth) p
        CROSS JOIN LATERAL recollect.memory_range_on_path(p_tenant, p_thread, p.branches, p.depths) r
        CROSS JOIN LATERAL unnest(p.branches, p.depths) AS part (branch, depth)
        LEFT JOIN LATERAL (
            SELECT m.seq FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
                AND m.depth <= LEAST(part.depth, COALESCE(r.to_depth, 0)) AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT 1
        ) AS last ON true
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    ) AS kept
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = kept.branch AND b.extract_seq <> kept.seq;
    RETURN v_changed;
END;
$$;
