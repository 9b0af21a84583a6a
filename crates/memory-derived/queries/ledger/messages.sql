SELECT m.seq, m.message_id, m.branch, m.depth, m.tokens, m.deleted_at IS NOT NULL AS erased
FROM recollect.messages m
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.seq > $3
ORDER BY m.seq
LIMIT $4
