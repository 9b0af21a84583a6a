SELECT t.thread_id, t.app_id, t.user_id, t.session_key, t.title, t.metadata,
    t.last_seq, t.head_id, t.message_count, t.created_at, t.updated_at, t.expires_at, t.policy, t.version, t.idle_ttl IS NOT NULL AS ephemeral, t.ordinal
FROM recollect.threads t
WHERE t.tenant_id = $1 AND t.app_id = $2 AND t.user_id = $3
    AND t.ordinal > $4
    -- An export would outlive an ephemeral thread.
    AND t.idle_ttl IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
ORDER BY t.ordinal
LIMIT $5
