-- Adds a turn to the memory of a node: one call, one transaction. Turns of one node wait
-- at its row, for as long as this takes; none waits for a flush.
CREATE OR REPLACE FUNCTION recollect.add_node_turn(
    p_tenant text, p_actor text, p_thread uuid, p_node text, p_key text,
    -- The parent: an id, or null for the message added last. With p_root there is
    -- none.
    p_parent text, p_root boolean,
    p_user text, p_assistant text, p_user_uuid uuid, p_assistant_uuid uuid,
    p_messages json, p_bytes integer, p_max_bytes bigint, p_ttl_seconds double precision,
    p_request uuid, p_hash bytea,
    -- ok, replayed, request_reused, thread_not_found, parent_not_found,
    -- message_exists (fault_id: the message) or full.
    OUT status text, OUT fault_id text, OUT user_id text, OUT assistant_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_node record;
    v_new boolean := false;
    v_request record;
    v_parent text;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Keeps the thread from being deleted; appends go on.
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR KEY SHARE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    LOOP
        SELECT n.last_message_id, n.size_bytes + n.waiting_bytes AS bytes,
            n.expires_at <= clock_timestamp() AS expired
        INTO v_node
        FROM recollect.node_memories n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        FOR UPDATE;
        IF FOUND THEN
            EXIT WHEN v_node.expired IS NOT TRUE;
            -- Recorded as the worker's: its time ended it, not this caller.
            PERFORM recollect.expire_node_memory(p_tenant, 'worker', p_thread, p_node);
            PERFORM set_config('recollect.actor', p_actor, true);
        END IF;
        INSERT INTO recollect.node_memories (tenant_id, thread_id, node_id, object_key)
        VALUES (p_tenant, p_thread, p_node, p_key)
        ON CONFLICT DO NOTHING;
        v_new := FOUND;
    END LOOP;

    <<store>>
    BEGIN
        IF p_request IS NOT NULL THEN
            SELECT r.content_hash, r.user_message_id, r.assistant_message_id INTO v_request
            FROM recollect.node_requests r
            WHERE r.tenant_id = p_tenant AND r.request_id = p_request;
            IF FOUND THEN
                status := CASE WHEN v_request.content_hash = p_hash THEN 'replayed' ELSE 'request_reused' END;
                user_id := v_request.user_message_id;
                assistant_id := v_request.assistant_message_id;
                EXIT store;
            END IF;
        END IF;

        v_parent := CASE WHEN p_root THEN NULL ELSE COALESCE(p_parent, v_node.last_message_id) END;
        IF p_parent IS NOT NULL THEN
            PERFORM FROM recollect.node_messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
                AND m.message_id = p_parent;
            IF NOT FOUND THEN
                status := 'parent_not_found';
                EXIT store;
            END IF;
        END IF;
        SELECT m.message_id INTO fault_id
        FROM recollect.node_messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
            AND m.message_id IN (p_user, p_assistant)
        LIMIT 1;
        IF FOUND THEN
            status := 'message_exists';
            EXIT store;
        END IF;
        IF v_node.bytes + p_bytes > p_max_bytes THEN
            status := 'full';
            EXIT store;
        END IF;
        IF p_request IS NOT NULL THEN
            INSERT INTO recollect.node_requests
                (tenant_id, request_id, thread_id, node_id, content_hash, user_message_id, assistant_message_id)
            VALUES (p_tenant, p_request, p_thread, p_node, p_hash, p_user, p_assistant)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                -- The same id came for another node just now.
                status := 'request_reused';
                EXIT store;
            END IF;
        END IF;
        INSERT INTO recollect.node_messages
            (tenant_id, thread_id, node_id, message_id, parent_id, role, thread_message_id)
        VALUES
            (p_tenant, p_thread, p_node, p_user, v_parent, 'user', p_user_uuid),
            (p_tenant, p_thread, p_node, p_assistant, p_user, 'assistant', p_assistant_uuid);
        INSERT INTO recollect.node_turns (tenant_id, thread_id, node_id, parent_id, messages, bytes)
        VALUES (p_tenant, p_thread, p_node, v_parent, p_messages, p_bytes);
        UPDATE recollect.node_memories n
        SET last_message_id = p_assistant,
            message_count = n.message_count + 2,
            waiting_count = n.waiting_count + 1,
            waiting_bytes = n.waiting_bytes + p_bytes,
            waiting_since = COALESCE(n.waiting_since, clock_timestamp()),
            updated_at = clock_timestamp(),
            expires_at = clock_timestamp() + make_interval(secs => p_ttl_seconds)
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
        PERFORM recollect.note(p_tenant, 'add_node_turn', p_thread, p_node, 1);
        status := 'ok';
        user_id := p_user;
        assistant_id := p_assistant;
        RETURN;
    END;
    -- Nothing was stored: an empty memory does not stay.
    IF v_new THEN
        DELETE FROM recollect.node_memories
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    END IF;
END;
$$;
