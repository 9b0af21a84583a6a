SELECT o.dead_order, o.thread_id, o.message_id, o.attempts, COALESCE(o.last_error, '') AS last_error, o.dead_at, o.kind
FROM recollect.outbox o
WHERE o.tenant_id = $1 AND o.dead_at IS NOT NULL AND o.dead_order < $2
ORDER BY o.dead_order DESC
LIMIT $3
