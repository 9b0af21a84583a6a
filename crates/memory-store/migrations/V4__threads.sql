-- Erases a thread with all its rows, and tells the index. With
-- p_only_expired it leaves a living thread alone; without, an expired one
-- counts as gone.
CREATE FUNCTION recollect.delete_thread(
    p_tenant text, p_actor text, p_thread uuid, p_only_expired boolean,
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    PERFORM set_config('recollect.actor', p_actor, true);
    SELECT t.last_seq, t.message_count INTO v_last_seq, message_count
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NOT NULL AND t.expires_at <= clock_timestamp()) = p_only_expired
    FOR UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    DELETE FROM recollect.messages WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.branches WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.erase_nodes(p_tenant, p_thread);
    PERFORM recollect.erase_plans(p_tenant, p_thread);
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.forget_distillates(p_tenant, p_thread);
    PERFORM recollect.forget_sources(p_tenant, p_thread, NULL);
    UPDATE recollect.memories SET thread_id = NULL WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.requests WHERE tenant_id = p_tenant AND thread_id = p_thread;
    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND lease_id IS NULL;
    DELETE FROM recollect.threads WHERE tenant_id = p_tenant AND thread_id = p_thread;
    revision := 0;
    IF v_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.note(p_tenant, 'delete_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;

-- Finds the thread of a session, or creates it. A thread that has expired
-- makes room. Without p_ttl_seconds a new one lives as long as the app's policy
-- says, or for good.
CREATE FUNCTION recollect.open_thread(
    p_tenant text, p_actor text, p_thread uuid, p_app text, p_user text, p_key text, p_digest bytea,
    p_title text, p_metadata jsonb, p_ttl_seconds double precision, p_scope text[],
    p_policy jsonb,
    OUT created boolean, OUT thread recollect.threads
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_ttl_seconds double precision := p_ttl_seconds;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    PERFORM set_config('recollect.actor', p_actor, true);
    LOOP
        created := false;
        SELECT t.* INTO thread FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.session_digest = p_digest;
        IF FOUND THEN
            IF thread.expires_at IS NULL OR thread.expires_at > clock_timestamp() THEN
                RETURN;
            END IF;
            -- Its time ended it, not who comes now.
            PERFORM recollect.delete_thread(p_tenant, 'worker', thread.thread_id, true);
            PERFORM set_config('recollect.actor', p_actor, true);
        END IF;

        created := true;
        IF v_ttl_seconds IS NULL THEN
            SELECT (p.policy #>> '{ttl,secs}')::double precision + (p.policy #>> '{ttl,nanos}')::double precision / 1e9
            INTO v_ttl_seconds
            FROM recollect.app_policies p
            WHERE p.tenant_id = p_tenant AND p.app_id = p_app;
        END IF;
        INSERT INTO recollect.threads
            (tenant_id, thread_id, app_id, user_id, session_key, session_digest, title, metadata, scope, expires_at,
             policy)
        VALUES
            (p_tenant, p_thread, p_app, p_user, p_key, p_digest, p_title, p_metadata,
             array_to_tsvector(p_scope), clock_timestamp() + make_interval(secs => v_ttl_seconds), p_policy)
        ON CONFLICT (tenant_id, session_digest) DO NOTHING
        RETURNING * INTO thread;
        IF FOUND THEN
            PERFORM recollect.note(p_tenant, 'create_thread', p_thread, '', 1);
            RETURN;
        END IF;
        -- Somebody else created it just now: read theirs.
    END LOOP;
END;
$$;

-- Erases all messages of a thread and keeps the thread.
CREATE FUNCTION recollect.clear_thread(
    p_tenant text, p_actor text, p_thread uuid,
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    PERFORM set_config('recollect.actor', p_actor, true);
    SELECT t.last_seq, t.message_count INTO v_last_seq, message_count
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    DELETE FROM recollect.messages WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.branches WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.erase_nodes(p_tenant, p_thread);
    PERFORM recollect.erase_plans(p_tenant, p_thread);
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.forget_distillates(p_tenant, p_thread);
    PERFORM recollect.forget_sources(p_tenant, p_thread, NULL);
    -- The purge covers whatever waits.
    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND lease_id IS NULL;
    UPDATE recollect.threads
    SET head_id = NULL, head_seq = 0, head_branch = 0, head_depth = 0, path_tokens = 0,
        branch_count = 0, message_count = 0, summary_generation = summary_generation + 1,
        observation_generation = observation_generation + 1, distill_at = 0, updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    revision := 0;
    IF v_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.note(p_tenant, 'clear_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;
