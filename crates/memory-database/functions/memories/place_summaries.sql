-- Gives a range to the imported summaries of a thread, which have none. It ends at the deepest
-- source; without a source, at the place before the first message. The caller holds lock_memories.
CREATE OR REPLACE FUNCTION recollect.place_summaries(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_thread record;
    v_summary record;
    v_end record;
    v_read record;
BEGIN
    SELECT t.last_seq, t.head_branch, t.head_depth INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    FOR v_summary IN
        SELECT m.memory_id, m.valid_until, m.superseded_by
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND NOT EXISTS (
                SELECT FROM recollect.memory_ranges r
                WHERE r.tenant_id = p_tenant AND r.memory_id = m.memory_id AND r.thread_id = p_thread)
        ORDER BY m.ordinal
    LOOP
        SELECT x.branch, x.depth, x.imported INTO v_end
        FROM recollect.memory_sources s
        JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id
        WHERE s.tenant_id = p_tenant AND s.memory_id = v_summary.memory_id AND s.thread_id = p_thread
        ORDER BY x.depth DESC, x.seq DESC
        LIMIT 1;
        IF v_summary.valid_until IS NULL AND NOT v_end.imported THEN
            -- A summary that was made here and holds covers all messages read on the path to the head.
            SELECT e.* INTO v_read
            FROM recollect.extracted_place(p_tenant, p_thread, v_thread.head_branch, v_thread.head_depth) e;
            IF v_read.depth > v_end.depth AND EXISTS (
                SELECT FROM recollect.path(p_tenant, p_thread, v_read.branch, v_read.depth) p
                WHERE p.branch = v_end.branch AND p.depth >= v_end.depth)
            THEN
                v_end := v_read;
            END IF;
        END IF;
        INSERT INTO recollect.memory_ranges
            (tenant_id, thread_id, memory_id, branch, after_depth, to_depth, based_on, until_seq)
        VALUES (p_tenant, p_thread, v_summary.memory_id, COALESCE(v_end.branch, 0), 0, COALESCE(v_end.depth, 0), '{}',
            v_thread.last_seq);
        UPDATE recollect.memories m
        SET left_path = true
        WHERE m.tenant_id = p_tenant AND m.memory_id = v_summary.memory_id AND m.valid_until IS NOT NULL
            AND EXISTS (
                SELECT FROM recollect.memories o
                WHERE o.tenant_id = p_tenant AND o.memory_id = v_summary.superseded_by AND o.thread_id = p_thread
                    AND o.strategy = 'summary');
        -- The summaries that it superseded may have been imported, and placed, before it.
        UPDATE recollect.memories m
        SET left_path = true
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.superseded_by = v_summary.memory_id AND m.valid_until IS NOT NULL AND NOT m.left_path;
    END LOOP;
END;
$$;
