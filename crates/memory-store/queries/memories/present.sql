SELECT m.memory_id
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.memory_id = ANY ($2)
