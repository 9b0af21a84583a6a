-- The changes after which the summary of the path to a thread's head holds, and no other summary of
-- the thread. Pinned ones stay as they are.
CREATE OR REPLACE FUNCTION recollect.summary_changes(
    p_tenant text, p_thread uuid,
    -- The summary of the path, if it holds or is to hold again; and whether it is to.
    OUT summary uuid, OUT returns boolean,
    -- The summaries that are to end.
    OUT ends uuid[]
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_path record;
    v_range recollect.memory_ranges;
    v_summary recollect.memories;
BEGIN
    SELECT p.* INTO v_path
    FROM recollect.threads t
    CROSS JOIN LATERAL recollect.path_arrays(p_tenant, p_thread, t.head_branch, t.head_depth) p
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    v_range := recollect.memory_range_on_path(p_tenant, p_thread, v_path.branches, v_path.depths);
    IF v_range.memory_id IS NULL THEN
        SELECT r.* INTO v_range
        FROM recollect.memory_ranges r
        WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread AND r.number = v_range.based_on[1];
    END IF;
    SELECT m.* INTO v_summary
    FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = v_range.memory_id AND m.thread_id = p_thread
        AND m.strategy = 'summary';
    returns := v_summary.valid_until IS NOT NULL AND v_summary.left_path
        -- Not one that a caller or a fact has replaced.
        AND (v_summary.superseded_by IS NULL OR EXISTS (
            SELECT FROM recollect.memories o
            WHERE o.tenant_id = p_tenant AND o.memory_id = v_summary.superseded_by AND o.thread_id = p_thread
                AND o.strategy = 'summary'));
    ends := ARRAY(
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.valid_until IS NULL AND NOT m.pinned AND m.memory_id IS DISTINCT FROM v_summary.memory_id
            -- If the path's own summary is to hold again, all others end. Otherwise summaries that
            -- were imported with another one for the same path wait for the next summary.
            AND (returns OR NOT EXISTS (
                SELECT FROM recollect.memory_ranges r
                WHERE r.tenant_id = p_tenant AND r.memory_id = m.memory_id AND r.thread_id = p_thread
                    AND recollect.is_on_path(v_path.branches, v_path.depths, r.branch, r.to_depth))));
    -- Another memory may say the same by now.
    returns := returns AND NOT EXISTS (
        SELECT FROM recollect.memories o
        WHERE o.tenant_id = p_tenant AND o.app_id = v_summary.app_id AND o.user_id = v_summary.user_id
            AND (o.content_hash = v_summary.content_hash
                OR v_summary.external_id <> '' AND o.external_id = v_summary.external_id)
            AND o.valid_until IS NULL AND NOT o.memory_id = ANY (ends));
    IF returns OR v_summary.valid_until IS NULL THEN
        summary := v_summary.memory_id;
    END IF;
END;
$$;
