-- Removes a message, or without p_message all messages of a thread, from the sources of
-- memories. An extracted memory is erased with its last source, unless it is pinned. A summary
-- of the thread is erased with the first message whose words it may contain, and the summary
-- before it holds again. Returns the number of sources removed: at most p_limit; null: all.
CREATE OR REPLACE FUNCTION recollect.erase_memories_by_source(
    p_tenant text, p_thread uuid, p_message uuid, p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_memories uuid[];
    v_count bigint;
    v_summaries uuid[] := '{}';
    v_ended uuid[];
    v_bounds text := COALESCE(current_setting('recollect.bounds', true), '');
BEGIN
    -- Memories of other users may be made of the thread's messages, too: they are erased also for a
    -- caller that is bound to the thread's user.
    PERFORM set_config('recollect.bounds', '', true);
    -- In order, to avoid deadlocks.
    PERFORM recollect.lock_memories(p_tenant, o.app_id, o.user_id)
    FROM (
        SELECT t.app_id, t.user_id
        FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        UNION
        SELECT m.app_id, m.user_id
        FROM (
            SELECT x.memory_id FROM recollect.memory_sources x
            WHERE x.tenant_id = p_tenant AND x.thread_id = p_thread
                AND (p_message IS NULL OR x.message_id = p_message)
            LIMIT p_limit
        ) AS s
        JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = s.memory_id
        ORDER BY 1, 2
        OFFSET 0
    ) AS o;
    DELETE FROM recollect.extract_again e
    WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread AND (p_message IS NULL OR e.message_id = p_message);
    IF p_message IS NULL THEN
        v_summaries := ARRAY(
            SELECT m.memory_id FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary' AND NOT m.pinned);
    ELSE
        v_summaries := recollect.erase_ranges_of_message(p_tenant, p_thread, p_message);
    END IF;
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
        -- Erased before, alone; memories built on it are erased now.
        SELECT u.id
        FROM unnest(v_memories) AS u (id)
        WHERE NOT EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = u.id)
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.memory_id = u.id)
        UNION
        SELECT u.id FROM unnest(v_summaries) AS u (id)
    ) AS lost;
    IF v_memories IS NULL THEN
        PERFORM set_config('recollect.bounds', v_bounds, true);
        RETURN v_count;
    END IF;
    v_ended := ARRAY(
        SELECT m.memory_id FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary' AND m.left_path
            AND p_message IS NOT NULL);
    -- A record for each user, so that who follows one learns of it.
    PERFORM recollect.audit_of(p_tenant, 'delete_memories', p_thread, '', o.count, o.app_id, o.user_id)
    FROM (
        SELECT COALESCE(m.app_id, '') AS app_id, COALESCE(m.user_id, '') AS user_id, count(*) AS count
        FROM unnest(v_memories) AS u (id)
        LEFT JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = u.id
        GROUP BY 1, 2
        ORDER BY 1, 2
    ) AS o;
    PERFORM recollect.erase_memories(p_tenant, v_memories);
    IF v_summaries <> '{}' AND p_message IS NOT NULL THEN
        UPDATE recollect.memories m
        SET left_path = true
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_ended) AND NOT m.left_path;
        PERFORM recollect.hold_summary(p_tenant, p_thread);
    END IF;
    PERFORM set_config('recollect.bounds', v_bounds, true);
    RETURN v_count;
END;
$$;
