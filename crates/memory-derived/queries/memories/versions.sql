SELECT m.memory_id, m.version
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.memory_id = ANY ($2)
