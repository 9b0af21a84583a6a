SELECT m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
    m.parts, m.metadata, m.tokens, m.said_at
FROM recollect.messages m
JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.message_id = recollect.named_message($1, $2, $3)
    AND m.deleted_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
