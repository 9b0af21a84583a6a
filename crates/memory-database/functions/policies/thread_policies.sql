-- A thread, the policy of its app (null: it has none), and with p_memories whether its user has
-- memories in the app. No row if there is no such thread.
CREATE OR REPLACE FUNCTION recollect.thread_policies(p_tenant text, p_thread uuid, p_memories boolean)
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
        p.policy,
        p_memories AND EXISTS (
            SELECT FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = t.app_id AND m.user_id = t.user_id)
    FROM recollect.threads t
    LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        -- An expired thread counts as not found, also before it is erased.
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()
            OR recollect.refuse_clearing(t.tenant_id, t.thread_id));
END;
$$;
