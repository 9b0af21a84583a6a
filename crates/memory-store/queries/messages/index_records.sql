SELECT t.thread_id, t.app_id, t.user_id, t.ordinal, p.message_id IS NOT NULL,
    m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
    m.parts, m.metadata, m.tokens, m.said_at,
    p.message_id, p.parent_id, p.seq, p.branch, p.depth, p.role, p.name,
    p.parts, p.metadata, p.tokens, p.said_at
FROM recollect.messages m
JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
LEFT JOIN recollect.messages p
    ON p.tenant_id = $1 AND p.message_id = m.parent_id AND p.deleted_at IS NULL
WHERE m.tenant_id = $1 AND m.message_id = ANY ($2)
    AND m.deleted_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
