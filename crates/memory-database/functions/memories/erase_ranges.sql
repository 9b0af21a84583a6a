-- Erases the ranges of a thread's summaries whose summary may contain the words of a message
-- that has just been erased, with the summaries that continue them, and returns these summaries; pinned
-- ones stay. The caller has the thread's lock and lock_memories.
CREATE OR REPLACE FUNCTION recollect.erase_ranges_of_message(p_tenant text, p_thread uuid, p_message uuid)
RETURNS uuid[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_message record;
    v_last integer;
    v_range record;
    v_gone bigint[] := '{}';
    v_erased bigint[] := '{}';
    v_imported bigint[] := '{}';
    v_summaries uuid[] := '{}';
    v_is_end boolean;
BEGIN
    PERFORM recollect.place_summaries(p_tenant, p_thread);
    SELECT m.seq, m.branch, m.depth, m.imported INTO v_message FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = p_message;
    -- Another message may take a deeper place of the branch (see is_tip).
    SELECT GREATEST(
        (SELECT max(m.depth) FROM recollect.messages m
         WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_message.branch AND m.deleted_at IS NULL),
        (SELECT max(b.fork_depth) FROM recollect.branches b
         WHERE b.tenant_id = p_tenant AND b.parent_branch = v_message.branch AND b.thread_id = p_thread), 0)
    INTO v_last;
    FOR v_range IN
        SELECT r.number, r.memory_id, r.branch, r.after_depth, r.to_depth, r.based_on, r.until_seq,
            m.memory_id AS summary, m.pinned
        FROM recollect.memory_ranges r
        LEFT JOIN recollect.memories m
            ON m.tenant_id = p_tenant AND m.memory_id = r.memory_id AND m.thread_id = p_thread AND m.strategy = 'summary'
        WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread
        -- A range is newer than the ranges that it continues.
        ORDER BY r.number
    LOOP
        v_is_end := v_range.branch = v_message.branch AND v_range.to_depth > v_last;
        CONTINUE WHEN NOT (v_is_end
            OR v_range.based_on && v_gone
            OR v_range.until_seq IS NOT NULL AND (v_range.until_seq >= v_message.seq OR v_message.imported)
            OR v_range.memory_id IS NOT NULL AND v_range.after_depth < v_message.depth AND v_range.to_depth >= v_message.depth
                AND EXISTS (
                    SELECT FROM recollect.path(p_tenant, p_thread, v_range.branch, v_range.to_depth) p
                    WHERE p.branch = v_message.branch AND p.depth >= v_message.depth));
        v_gone := v_gone || v_range.number;
        -- The messages of a summary that was erased for another reason are not summarized again.
        CONTINUE WHEN NOT v_is_end AND v_range.memory_id IS NOT NULL AND v_range.pinned IS NOT FALSE;
        v_erased := v_erased || v_range.number;
        IF NOT v_range.pinned THEN
            v_summaries := v_summaries || v_range.summary;
            IF v_range.until_seq IS NOT NULL THEN
                v_imported := v_imported || v_range.number;
            END IF;
        END IF;
    END LOOP;
    IF v_erased = '{}' THEN
        RETURN v_summaries;
    END IF;
    -- Another strategy would not summarize again.
    IF (SELECT p.extraction FROM recollect.policy_of_thread(p_tenant, p_thread) AS p) = 'summary' THEN
        -- The sources of an imported summary are read, unless facts came with it.
        UPDATE recollect.messages x
        SET imported = false
        FROM recollect.memory_ranges r
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, r.branch, r.to_depth) p
        WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread AND r.number = ANY (v_imported)
            AND x.tenant_id = p_tenant AND x.thread_id = p_thread AND x.branch = p.branch AND x.depth <= p.depth
            AND x.deleted_at IS NULL AND x.imported
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = s.memory_id
                WHERE s.tenant_id = p_tenant AND s.thread_id = p_thread AND s.message_id = x.message_id
                    AND m.strategy <> 'summary');
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;
    -- One text may be the summary of several ranges: all of them are read again.
    DELETE FROM recollect.memory_ranges r
    WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread
        AND (r.number = ANY (v_erased) OR r.memory_id = ANY (v_summaries));
    RETURN v_summaries;
END;
$$;
