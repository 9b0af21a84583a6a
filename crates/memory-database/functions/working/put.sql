-- Replaces the working memory of a thread: all of it or nothing, because it is one
-- statement, and all conditions are checked before anything is stored.
CREATE OR REPLACE FUNCTION recollect.put_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- The etag of the state that is to be replaced.
    p_etag text,
    -- Messages of the working memory before this depth are set aside.
    p_keep_from integer,
    -- The depth at which the messages to append start a branch; without any, the message
    -- before it becomes the head. Null: they follow the head.
    p_branch_at integer,
    -- The messages to append, as recollect.append takes them; may be empty.
    p_messages json, p_parts json[], p_words text[],
    -- Null: the context stays.
    p_context text, p_context_tokens integer,
    -- Memories, as put_memory takes them. Null: they stay.
    p_items jsonb, p_scope text,
    -- Null: the data stays.
    p_data json,
    -- Whether to set the expiry, and to what: null for none.
    p_set_ttl boolean, p_ttl_seconds double precision,
    -- Whether the thread expires with the working memory.
    p_ttl_erases boolean,
    -- Fields of the thread's policy to set.
    p_policy jsonb,
    -- Null: the model stays. Empty: none.
    p_model text, p_window integer,
    -- As recollect.append takes it.
    p_max_ephemeral_bytes bigint,
    -- ok, thread_not_found, changed, message_exists (fault_id), external_exists
    -- (fault_index: the message to append, from 0), ephemeral_full,
    -- source_not_found (item and source: which one, from 0),
    -- memory_not_found or memory_taken (item).
    OUT status text, OUT fault_index integer, OUT fault_id uuid, OUT item integer, OUT source integer,
    -- Of the messages; null: none was appended.
    OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_thread record;
    v_appended record;
    v_item record;
    v_put record;
    v_changes bigint := 0;
    v_created boolean := false;
    v_fork record;
    v_new recollect.new_message[] := ARRAY(
        SELECT n FROM json_populate_recordset(NULL::recollect.new_message, p_messages) AS n);
    v_parent text;
    v_keep_from integer;
    v_context text := p_context;
    v_context_tokens integer := p_context_tokens;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.allow_speakers(p_tenant, p_thread, p_messages);
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    IF v_state.expired OR v_state.etag <> p_etag THEN
        status := 'changed';
        RETURN;
    END IF;
    SELECT t.app_id, t.user_id INTO STRICT v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    PERFORM recollect.lock_sources(p_tenant, p_items);
    SELECT s.* INTO item, source
    FROM recollect.missing_source(
        p_tenant, v_thread.app_id, v_thread.user_id, p_items,
        ARRAY(SELECT n.message_id FROM unnest(v_new) AS n)) AS s;
    IF item IS NOT NULL THEN
        status := 'source_not_found';
        RETURN;
    END IF;

    -- Before append, which may lock the tenant's ephemeral threads: erasing a thread takes
    -- both locks in this order.
    IF jsonb_array_length(p_items) > 0 THEN
        PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
        SELECT i.place - 1 INTO item
        FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place)
        WHERE i.value ->> 'listed' IS NOT NULL AND NOT EXISTS (
            SELECT FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = v_thread.app_id AND m.user_id = v_thread.user_id
                AND m.memory_id = (i.value ->> 'listed')::uuid)
        ORDER BY i.place LIMIT 1;
        IF item IS NOT NULL THEN
            status := 'memory_not_found';
            RETURN;
        END IF;
        -- Stored one after the other, one of two memories would be lost.
        SELECT i.place - 1 INTO item
        FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place)
        WHERE (i.value ->> 'listed' IS NOT NULL AND i.value ->> 'record' <> '' AND EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.app_id = v_thread.app_id AND m.user_id = v_thread.user_id
                    AND m.external_id = i.value ->> 'record' AND m.valid_until IS NULL
                    AND m.memory_id <> (i.value ->> 'listed')::uuid)
                AND NOT EXISTS (
                    SELECT FROM recollect.memories s
                    WHERE s.tenant_id = p_tenant AND s.memory_id = (i.value ->> 'listed')::uuid
                        AND s.valid_until IS NOT NULL AND s.content_hash = decode(i.value ->> 'hash', 'hex')))
            OR EXISTS (
                SELECT FROM recollect.memories m
                JOIN jsonb_array_elements(p_items) AS o (value) ON (o.value ->> 'listed')::uuid = m.memory_id
                WHERE m.tenant_id = p_tenant AND m.app_id = v_thread.app_id AND m.user_id = v_thread.user_id
                    AND m.content_hash = decode(i.value ->> 'hash', 'hex') AND m.valid_until IS NULL
                    AND m.memory_id IS DISTINCT FROM (i.value ->> 'listed')::uuid
                    AND o.value ->> 'hash' <> i.value ->> 'hash')
        ORDER BY i.place LIMIT 1;
        IF item IS NOT NULL THEN
            status := 'memory_taken';
            RETURN;
        END IF;
    END IF;
    v_keep_from := LEAST(p_keep_from, v_state.head_depth + 1);
    IF p_branch_at IS NOT NULL THEN
        SELECT m.message_id, m.depth INTO v_fork
        FROM unnest(v_state.branches, v_state.above, v_state.depths) AS part (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
            AND m.depth > part.above AND m.depth <= LEAST(part.depth, p_branch_at - 1) AND m.deleted_at IS NULL
        ORDER BY m.depth DESC
        LIMIT 1;
        v_keep_from := LEAST(v_keep_from, COALESCE(v_fork.depth, 0) + 1);
        v_parent := COALESCE(v_fork.message_id::text, '');
        -- The context stays, also where its summary is not on the branch.
        v_context := COALESCE(p_context, v_state.context);
        v_context_tokens := CASE WHEN p_context IS NULL THEN v_state.context_tokens ELSE p_context_tokens END;
    END IF;
    BEGIN
        IF p_branch_at IS NOT NULL THEN
            -- The callers' own ids name the messages of the branch from now on.
            UPDATE recollect.messages
            SET external_id = NULL, external_digest = NULL
            WHERE tenant_id = p_tenant AND deleted_at IS NULL AND external_digest IN (
                SELECT recollect.external_digest(p_thread, n.external_id) FROM unnest(v_new) AS n);
        END IF;
        IF cardinality(v_new) > 0 THEN
            SELECT a.* INTO v_appended
            FROM recollect.append(
                p_tenant, p_actor, p_thread, p_messages, p_parts, p_words, NULL, NULL, false, NULL, false,
                p_max_ephemeral_bytes, v_parent) AS a;
            IF v_appended.status <> 'ok' THEN
                RAISE SQLSTATE 'RC001';
            END IF;
            revision := v_appended.revision;
        ELSIF p_branch_at IS NOT NULL THEN
            PERFORM recollect.set_head(p_tenant, p_actor, p_thread, v_fork.message_id::text, false, NULL);
        END IF;
    EXCEPTION WHEN SQLSTATE 'RC001' THEN
        status := v_appended.status;
        fault_index := v_appended.fault_index;
        fault_id := v_appended.fault_id;
        RETURN;
    END;
    PERFORM recollect.set_aside(
        p_tenant, p_actor, p_thread, v_keep_from, v_context, v_context_tokens, 'caller');

    IF p_items IS NOT NULL THEN
        DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
    END IF;
    FOR v_item IN
        SELECT i.value, i.place FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place
    LOOP
        SELECT p.* INTO v_put
        FROM recollect.put_memory(
            p_tenant, v_thread.app_id, v_thread.user_id, p_scope, v_item.value, 'working_memory', p_thread, '', '') AS p;
        v_changes := v_changes + (v_put.revision IS NOT NULL)::integer;
        v_created := v_created OR v_put.created;
        INSERT INTO recollect.working_records (tenant_id, thread_id, position, memory_id)
        VALUES (p_tenant, p_thread, v_item.place, (v_put.memory).memory_id)
        -- Two items may have the same text.
        ON CONFLICT DO NOTHING;
    END LOOP;
    IF v_created THEN
        PERFORM recollect.check_memory_count(p_tenant, v_thread.app_id, v_thread.user_id, p_items -> 0);
    END IF;
    IF v_changes > 0 THEN
        PERFORM recollect.audit(p_tenant, 'add_memories', p_thread, v_thread.app_id, v_changes);
    END IF;

    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, data, expires_at)
    VALUES (p_tenant, p_thread, COALESCE(p_data, '{}'), clock_timestamp() + make_interval(secs => p_ttl_seconds))
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET data = COALESCE(p_data, w.data), version = EXCLUDED.version, rebuilt = false,
        expires_at = CASE WHEN p_set_ttl THEN EXCLUDED.expires_at ELSE w.expires_at END,
        updated_at = clock_timestamp();
    PERFORM recollect.set_model(p_tenant, p_thread, p_model, p_window);
    PERFORM recollect.put_thread(p_tenant, p_thread, CASE WHEN p_ttl_erases THEN p_ttl_seconds END, p_policy);
    PERFORM recollect.audit(p_tenant, 'put_working_memory', p_thread, '', cardinality(v_new));
    status := 'ok';
END;
$$;
