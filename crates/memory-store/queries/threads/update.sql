UPDATE recollect.threads t
SET title = COALESCE($3, t.title),
    metadata = COALESCE($4, t.metadata),
    -- $5: whether to change the expiry; $6: seconds to live, null for good.
    expires_at = CASE WHEN $5 THEN clock_timestamp() + make_interval(secs => $6) ELSE t.expires_at END,
    -- $7: the new policy; null leaves it.
    policy = COALESCE($7, t.policy),
    updated_at = clock_timestamp()
WHERE t.tenant_id = $1 AND t.thread_id = $2
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
RETURNING t.thread_id, t.app_id, t.user_id, t.session_key, t.title, t.metadata,
    t.last_seq, t.head_id, t.message_count, t.created_at, t.updated_at, t.expires_at, t.policy
