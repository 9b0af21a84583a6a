SELECT t.actor, t.action, t.thread_id, t.subject, t.item_count, t.result, t.created_at, t.id
FROM recollect.transactions t
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND t.actor = $3 AND t.id < $4
    AND ($6::text[] IS NULL OR t.action = ANY ($6))
    AND ($7::timestamptz IS NULL OR t.created_at >= $7)
    AND ($8::timestamptz IS NULL OR t.created_at < $8)
ORDER BY t.id DESC
LIMIT $5
