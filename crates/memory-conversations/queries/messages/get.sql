SELECT recollect.readable(m) AS message
FROM recollect.messages m
JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.message_id = recollect.named_message($1, $2, $3)
    AND m.deleted_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
