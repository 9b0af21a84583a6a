SELECT t.actor, t.action, t.thread_id, t.subject, t.item_count, t.result, t.created_at, t.id
FROM recollect.transactions t
WHERE t.tenant_id = $1 AND t.actor = $2 AND t.id < $3
ORDER BY t.id DESC
LIMIT $4
