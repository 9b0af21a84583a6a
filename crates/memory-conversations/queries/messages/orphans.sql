-- The messages, of these, whose parent was erased, each with the nearest readable message
-- before it; null: none.
SELECT m.message_id, nearest.message_id AS nearest_id
FROM recollect.messages m
JOIN recollect.messages p
    ON p.tenant_id = $1 AND p.message_id = m.parent_id AND p.deleted_at IS NOT NULL
CROSS JOIN LATERAL recollect.nearest_readable($1, $2, m.branch, m.depth - 1) AS nearest
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.message_id = ANY ($3)
