SELECT m.message_id, m.thread_id, m.seq
FROM recollect.messages m
JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
WHERE m.tenant_id = $1 AND m.message_id = ANY ($2)
    AND m.deleted_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
