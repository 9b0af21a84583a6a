SELECT t.actor, t.action, t.thread_id, t.subject, t.item_count, t.result, t.created_at, t.id
FROM recollect.transactions t
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND t.id < $3
    AND ($5::text[] IS NULL OR t.action = ANY ($5))
    AND ($6::timestamptz IS NULL OR t.created_at >= $6)
    AND ($7::timestamptz IS NULL OR t.created_at < $7)
ORDER BY t.id DESC
LIMIT $4
