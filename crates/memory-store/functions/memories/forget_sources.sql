-- Erases what a message, or without one a whole thread, has proved: a memory that
-- was extracted goes with its last source, unless it is pinned. What sums a thread
-- up goes with the first of its messages: its words may be in it.
CREATE OR REPLACE FUNCTION recollect.forget_sources(p_tenant text, p_thread uuid, p_message uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_memories uuid[];
    v_summed_up boolean;
    v_imported boolean;
BEGIN
    -- Sources are of their memory's app and user.
    PERFORM recollect.lock_memories(p_tenant, t.app_id, t.user_id)
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    v_imported := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        JOIN recollect.memory_sources s ON s.tenant_id = p_tenant AND s.memory_id = m.memory_id
        JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id AND x.imported
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND s.thread_id = p_thread);
    WITH gone AS (
        DELETE FROM recollect.memory_sources s
        WHERE s.tenant_id = p_tenant AND s.thread_id = p_thread
            AND (p_message IS NULL OR s.message_id = p_message)
        RETURNING s.memory_id
    )
    SELECT array_agg(DISTINCT gone.memory_id) INTO v_memories FROM gone;
    SELECT array_agg(lost.memory_id) INTO v_memories
    FROM (
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.origin = 'extracted' AND NOT m.pinned
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.memory_id = m.memory_id)
        UNION
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.origin = 'extracted' AND NOT m.pinned
    ) AS lost;
    IF v_memories IS NULL THEN
        RETURN;
    END IF;
    v_summed_up := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.thread_id = p_thread
            AND m.strategy = 'summary' AND m.valid_until IS NULL)
        -- Another strategy has nothing to make anew.
        AND EXISTS (
            SELECT FROM recollect.threads t
            LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
                AND COALESCE(t.policy ->> 'extraction', p.policy ->> 'extraction') = 'summary');
    PERFORM recollect.erase_memories(p_tenant, v_memories);
    PERFORM recollect.note(p_tenant, 'forget_memories', p_thread, '', cardinality(v_memories));
    -- What is left is summed up anew, from the first message on.
    IF v_summed_up THEN
        UPDATE recollect.branches SET extract_seq = 0
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND extract_seq > 0;
        IF v_imported THEN
            PERFORM recollect.learn_from_imported(p_tenant, p_thread);
        END IF;
        PERFORM recollect.want_distill(p_tenant, p_thread);
    END IF;
END;
$$;
