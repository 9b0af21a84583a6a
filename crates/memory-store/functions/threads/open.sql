-- Finds the thread of a session, or creates it. A thread that has expired
-- makes room. Without p_ttl_seconds a new one lives as long as the app's policy
-- says, or for good.
CREATE OR REPLACE FUNCTION recollect.open_thread(
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
