-- The policy of an app (null: it has none), the thread of a session (null columns: it has none), and
-- with p_memories whether the user has memories in the app. One row.
CREATE OR REPLACE FUNCTION recollect.session_policies(
    p_tenant text, p_digest bytea, p_app text, p_user text, p_memories boolean
)
RETURNS TABLE (
    thread_id uuid, app_id text, user_id text, session_key text, title text, metadata jsonb,
    last_seq bigint, head_id uuid, message_count bigint, created_at timestamptz, updated_at timestamptz,
    expires_at timestamptz, policy jsonb, version uuid, ephemeral boolean, ordinal bigint,
    app_policy jsonb, any_memories boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    RETURN QUERY
    SELECT t.thread_id, t.app_id, t.user_id, t.session_key, t.title, t.metadata,
        t.last_seq, t.head_id, t.message_count, t.created_at, t.updated_at,
        t.expires_at, t.policy, t.version, t.idle_ttl IS NOT NULL, t.ordinal,
        (SELECT p.policy FROM recollect.app_policies p WHERE p.tenant_id = p_tenant AND p.app_id = p_app),
        p_memories AND EXISTS (
            SELECT FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user)
    FROM (VALUES (p_digest)) AS asked (digest)
    LEFT JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.session_digest = asked.digest
        -- An expired thread counts as not found, also before it is erased.
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()
            OR recollect.refuse_clearing(t.tenant_id, t.thread_id));
END;
$$;
