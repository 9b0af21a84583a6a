-- Removes a message, or without p_message all messages of a thread, from the sources of
-- memories. An extracted memory is erased with its last source, unless it is pinned; a
-- summary of the thread with the first of its messages, because it may contain its
-- words. Returns how many sources it removed: at most p_limit; null: all.
CREATE OR REPLACE FUNCTION recollect.erase_memories_by_source(
    p_tenant text, p_thread uuid, p_message uuid, p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_memories uuid[];
    v_count bigint;
    v_summed_up boolean;
    v_imported boolean;
BEGIN
    -- Sources have the app and user of their memory.
    PERFORM recollect.lock_memories(p_tenant, t.app_id, t.user_id)
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    DELETE FROM recollect.extract_again e
    WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread AND (p_message IS NULL OR e.message_id = p_message);
    v_imported := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        JOIN recollect.memory_sources s ON s.tenant_id = p_tenant AND s.memory_id = m.memory_id
        JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id AND x.imported
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND s.thread_id = p_thread);
    WITH gone AS (
        DELETE FROM recollect.memory_sources s
        WHERE s.tenant_id = p_tenant AND s.ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.memory_sources x
            WHERE x.tenant_id = p_tenant AND x.thread_id = p_thread
                AND (p_message IS NULL OR x.message_id = p_message)
            LIMIT p_limit))
        RETURNING s.memory_id
    )
    SELECT array_agg(DISTINCT gone.memory_id), count(*) INTO v_memories, v_count FROM gone;
    SELECT array_agg(lost.memory_id) INTO v_memories
    FROM (
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.origin = 'extracted' AND NOT m.pinned
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.memory_id = m.memory_id)
        UNION
        -- Erased before, alone; what was built on it goes now.
        SELECT u.id
        FROM unnest(v_memories) AS u (id)
        WHERE NOT EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = u.id)
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.memory_id = u.id)
        UNION
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.origin = 'extracted' AND NOT m.pinned
    ) AS lost;
    IF v_memories IS NULL THEN
        RETURN v_count;
    END IF;
    v_summed_up := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.thread_id = p_thread
            AND m.strategy = 'summary' AND m.valid_until IS NULL)
        -- Another strategy would not summarize again.
        AND (SELECT p.extraction FROM recollect.policy_of_thread(p_tenant, p_thread) AS p) = 'summary';
    PERFORM recollect.erase_memories(p_tenant, v_memories);
    PERFORM recollect.note(p_tenant, 'forget_memories', p_thread, '', cardinality(v_memories));
    -- The messages that are left are summarized again, from the first one on.
    IF v_summed_up THEN
        UPDATE recollect.branches SET extract_seq = 0
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND extract_seq > 0;
        IF v_imported THEN
            PERFORM recollect.unmark_imported(p_tenant, p_thread);
        END IF;
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;
    RETURN v_count;
END;
$$;
