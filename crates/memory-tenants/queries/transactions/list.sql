SELECT t.actor, t.action, t.thread_id, t.subject, t.item_count, t.result, t.created_at, t.id
FROM recollect.transactions t
WHERE t.tenant_id = $1 AND t.id < $2
    AND ($4::text[] IS NULL OR t.action = ANY ($4))
    AND ($5::timestamptz IS NULL OR t.created_at >= $5)
    AND ($6::timestamptz IS NULL OR t.created_at < $6)
ORDER BY t.id DESC
LIMIT $3
