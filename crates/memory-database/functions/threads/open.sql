-- Finds the thread of a session, or creates it. A thread that has expired
-- is deleted first. Without p_ttl_seconds a new one lives as long as the policy of the
-- app or the server says, or without end. With p_idle_seconds a new one is ephemeral: it ends when
-- it has not been used for that time, and a tenant has at most p_max_ephemeral of them.
CREATE OR REPLACE FUNCTION recollect.open_thread(
    p_tenant text, p_actor text, p_thread uuid, p_app text, p_user text, p_key text, p_digest bytea,
    p_title text, p_metadata jsonb, p_ttl_seconds double precision, p_scope text[],
    p_policy jsonb, p_idle_seconds double precision, p_max_ephemeral bigint,
    -- ok, or ephemeral_full: nothing was created.
    OUT status text, OUT created boolean, OUT thread recollect.threads
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_ttl_seconds double precision := p_ttl_seconds;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    status := 'ok';
    LOOP
        created := false;
        SELECT t.* INTO thread FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.session_digest = p_digest;
        IF FOUND THEN
            IF thread.expires_at IS NULL OR thread.expires_at > clock_timestamp() THEN
                RETURN;
            END IF;
            PERFORM recollect.refuse_clearing(p_tenant, thread.thread_id);
            -- Recorded under the worker's name: time ended it, not this caller.
            PERFORM recollect.delete_thread(p_tenant, 'worker', thread.thread_id, true);
            PERFORM set_config('recollect.actor', p_actor, true);
        END IF;

        PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
        IF p_idle_seconds IS NOT NULL AND recollect.ephemeral_full(p_tenant, 1, 0, p_max_ephemeral, NULL) THEN
            status := 'ephemeral_full';
            RETURN;
        END IF;
        created := true;
        IF v_ttl_seconds IS NULL THEN
            SELECT f.ttl_seconds INTO v_ttl_seconds
            FROM recollect.policy_fields(recollect.server_policy() || COALESCE((
                SELECT p.policy FROM recollect.app_policies p
                WHERE p.tenant_id = p_tenant AND p.app_id = p_app), '{}')) AS f;
        END IF;
        INSERT INTO recollect.threads
            (tenant_id, thread_id, app_id, user_id, session_key, session_digest, title, metadata, scope, expires_at,
             idle_ttl, lifetime_end, policy, created_at, updated_at)
        SELECT
             p_tenant, p_thread, p_app, p_user, p_key, p_digest, p_title, p_metadata,
             array_to_tsvector(p_scope),
             now + make_interval(secs => LEAST(v_ttl_seconds, p_idle_seconds)),
             make_interval(secs => p_idle_seconds),
             CASE WHEN p_idle_seconds IS NOT NULL THEN now + make_interval(secs => v_ttl_seconds) END,
             p_policy, now, now
        FROM (SELECT clock_timestamp() AS now) AS clock
        ON CONFLICT (tenant_id, session_digest) DO NOTHING
        RETURNING * INTO thread;
        IF FOUND THEN
            PERFORM recollect.audit(p_tenant, 'create_thread', p_thread, '', 1);
            RETURN;
        END IF;
        -- Another caller created it just now: read theirs.
    END LOOP;
END;
$$;
