-- Adds events of an agent to the log of a thread, under the next numbers: all or none.
CREATE OR REPLACE FUNCTION recollect.append_events(
    p_tenant text, p_actor text, p_thread uuid, p_types text[], p_data text[],
    -- Null: now.
    p_happened timestamptz[],
    -- The messages that they belong to; null: the thread's head, empty: none.
    p_messages text[],
    p_most bigint,
    -- As recollect.append takes it.
    p_max_ephemeral_bytes bigint, p_request uuid, p_hash bytea,
    -- ok, replayed, request_reused, thread_not_found, full or ephemeral_full.
    OUT status text, OUT first_number bigint, OUT event_count integer
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_request record;
    v_thread record;
    v_bytes bigint;
    v_now timestamptz;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_request IS NOT NULL THEN
        SELECT e.content_hash, e.number, e.request_count INTO v_request
        FROM recollect.agent_events e
        WHERE e.tenant_id = p_tenant AND e.request_id = p_request;
        IF FOUND THEN
            IF v_request.content_hash IS DISTINCT FROM p_hash THEN
                status := 'request_reused';
                RETURN;
            END IF;
            status := 'replayed';
            first_number := v_request.number;
            event_count := v_request.request_count;
            RETURN;
        END IF;
    END IF;
    event_count := cardinality(p_types);
    SELECT COALESCE(max(e.number), 0) + 1 INTO first_number FROM recollect.agent_events e
    WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread;
    IF first_number + event_count - 1 > p_most THEN
        status := 'full';
        RETURN;
    END IF;
    SELECT t.head_id, t.idle_ttl INTO STRICT v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    SELECT sum(octet_length(u.type) + octet_length(u.data)) INTO v_bytes
    FROM unnest(p_types, p_data) AS u (type, data);
    IF v_thread.idle_ttl IS NOT NULL THEN
        IF recollect.ephemeral_full(p_tenant, 0, v_bytes, NULL, p_max_ephemeral_bytes) THEN
            status := 'ephemeral_full';
            RETURN;
        END IF;
    END IF;
    v_now := clock_timestamp();
    INSERT INTO recollect.agent_events
        (tenant_id, thread_id, number, type, data, message_name, happened_at, bytes,
         request_id, content_hash, request_count)
    SELECT p_tenant, p_thread, append_events.first_number + u.place - 1, u.type, u.data,
        COALESCE(u.message, v_thread.head_id::text, ''), COALESCE(u.happened, v_now),
        octet_length(u.type) + octet_length(u.data),
        CASE WHEN u.place = 1 THEN p_request END, CASE WHEN u.place = 1 THEN p_hash END,
        CASE WHEN u.place = 1 THEN append_events.event_count END
    FROM unnest(p_types, p_data, p_happened, p_messages) WITH ORDINALITY
        AS u (type, data, happened, message, place)
    ORDER BY u.place
    -- The same request came for another thread just now.
    ON CONFLICT (tenant_id, request_id) WHERE request_id IS NOT NULL DO NOTHING;
    IF p_request IS NOT NULL AND NOT EXISTS (
        SELECT FROM recollect.agent_events e
        WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread AND e.number = append_events.first_number)
    THEN
        DELETE FROM recollect.agent_events e
        WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread AND e.number > append_events.first_number;
        status := 'request_reused';
        RETURN;
    END IF;
    UPDATE recollect.threads
    SET stored_bytes = stored_bytes + v_bytes,
        content_bytes = CASE WHEN idle_ttl IS NULL THEN 0 ELSE content_bytes + v_bytes END
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.audit(
        p_tenant, 'append_events', p_thread, append_events.first_number::text, append_events.event_count);
    status := 'ok';
END;
$$;
