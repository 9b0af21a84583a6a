-- Adds a turn to the memory of a node: one call, one transaction. Turns of one node wait
-- at its row, for as long as this takes; none waits for a flush.
CREATE OR REPLACE FUNCTION recollect.add_node_turn(
    p_tenant text, p_actor text, p_thread uuid, p_node text, p_key text,
    -- The parent, an id of the node's memory or of the thread; null: it follows from where the
    -- turn belongs. With p_root there is none.
    p_parent text, p_root boolean,
    -- The message of the thread that the turn belongs to; null: the head. With p_start it
    -- belongs before the first message.
    p_message text, p_start boolean,
    -- The ids of both messages, and which of them the caller chose.
    p_user text, p_assistant text, p_chosen boolean[], p_messages json, p_bytes integer, p_max_bytes bigint,
    p_ttl_seconds double precision, p_request uuid, p_hash bytea,
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
    -- The parent, where it is a message of the thread.
    v_above_seq bigint;
    v_above_branch integer;
    v_above_depth integer;
    v_place record;
    v_last_seq bigint;
    v_bytes integer;
    v_parent text;
    v_is_own boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Keeps the thread from being deleted; appends continue.
    SELECT t.last_seq INTO v_last_seq
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR KEY SHARE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    LOOP
        SELECT n.size_bytes + n.waiting_bytes AS bytes, n.expires_at <= clock_timestamp() AS expired
        INTO v_node
        FROM recollect.node_memories n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        FOR UPDATE;
        IF FOUND THEN
            EXIT WHEN v_node.expired IS NOT TRUE;
            -- Recorded under the worker's name: time ended it, not this caller.
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

        v_is_own := EXISTS (
            SELECT FROM recollect.node_messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
                AND m.message_id = p_parent);
        IF p_parent IS NOT NULL AND NOT v_is_own THEN
            SELECT m.seq, m.branch, m.depth INTO v_above_seq, v_above_branch, v_above_depth
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_parent);
            IF NOT FOUND THEN
                v_parent := (SELECT n.message_id
                    FROM recollect.last_node_message_named(p_tenant, p_thread, p_node, ARRAY[p_parent]) n);
                IF v_parent IS NULL THEN
                    status := 'parent_not_found';
                    EXIT store;
                END IF;
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
        IF p_start THEN
            SELECT 0::bigint AS seq, 0 AS branch, 0 AS depth, false AS is_open, NULL::bigint AS child_seq,
                NULL::bigint AS after_seq, NULL::text AS thread_message_id,
                (SELECT n.message_id FROM recollect.node_messages n
                 WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.place_seq = 0
                 ORDER BY n.added DESC
                 LIMIT 1) AS last_message_id
            INTO v_place;
        ELSE
            SELECT p.* INTO v_place
            FROM recollect.place_node_turn(
                p_tenant, p_thread, p_node, COALESCE(p_message, CASE WHEN p_chosen[1] THEN p_user END),
                CASE WHEN v_is_own THEN NULL ELSE p_parent END, p_message IS NOT NULL) p;
        END IF;
        -- Both messages are stored with it.
        v_bytes := p_bytes + COALESCE(2 * (24 + octet_length(v_place.thread_message_id)), 0);
        IF v_node.bytes + v_bytes > p_max_bytes THEN
            status := 'full';
            EXIT store;
        END IF;
        IF p_root THEN
            v_parent := NULL;
        ELSIF v_is_own THEN
            v_parent := p_parent;
        ELSIF v_place.last_message_id IS NOT NULL THEN
            v_parent := v_place.last_message_id;
        ELSIF v_above_seq IS NOT NULL AND v_above_seq IS DISTINCT FROM v_place.seq THEN
            v_parent := (SELECT l.message_id
                FROM recollect.last_node_message(p_tenant, p_thread, p_node, v_above_branch, v_above_depth, 'all') l);
        ELSIF v_parent IS NULL AND v_place.depth IS NOT NULL THEN
            v_parent := (SELECT l.message_id
                FROM recollect.last_node_message(
                    p_tenant, p_thread, p_node, v_place.branch, v_place.depth, 'none') l);
        ELSIF v_parent IS NULL THEN
            v_parent := (SELECT l.node_message_id
                FROM recollect.nearest_node_message(p_tenant, p_thread, p_node, '') l);
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
            (tenant_id, thread_id, node_id, message_id, parent_id, role, late_name, late_id,
             place_seq, place_branch, place_depth, place_open, child_seq, after_seq)
        SELECT p_tenant, p_thread, p_node, u.message_id, u.parent_id, u.role, u.late_name,
            recollect.uuid_of(u.late_name), u.seq, u.branch, u.depth, u.is_open, u.child_seq,
            COALESCE(v_place.after_seq, v_last_seq)
        FROM (VALUES
            (1, p_user, v_parent, 'user',
             CASE
                 WHEN v_place.seq IS NULL THEN p_message
                 -- Its message may still come.
                 WHEN p_message IS NULL AND NOT p_start AND p_chosen[1]
                     AND recollect.named_message(p_tenant, p_thread, p_user) IS NULL THEN p_user
             END,
             NULL::bigint, NULL::integer, NULL::integer, NULL::boolean, NULL::bigint),
            (2, p_assistant, p_user, 'assistant', CASE WHEN p_chosen[2] THEN p_assistant END,
             v_place.seq, v_place.branch, v_place.depth, v_place.is_open, v_place.child_seq))
            AS u (number, message_id, parent_id, role, late_name, seq, branch, depth, is_open, child_seq)
        ORDER BY u.number;
        INSERT INTO recollect.node_turns (tenant_id, thread_id, node_id, parent_id, thread_message_id, messages, bytes)
        VALUES (p_tenant, p_thread, p_node, v_parent, v_place.thread_message_id, p_messages, v_bytes);
        UPDATE recollect.node_memories n
        SET message_count = n.message_count + 2,
            waiting_count = n.waiting_count + 1,
            waiting_bytes = n.waiting_bytes + v_bytes,
            waiting_since = COALESCE(n.waiting_since, clock_timestamp()),
            updated_at = clock_timestamp(),
            expires_at = clock_timestamp() + make_interval(secs => p_ttl_seconds)
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
        PERFORM recollect.audit(p_tenant, 'add_node_turn', p_thread, p_node, 1);
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
