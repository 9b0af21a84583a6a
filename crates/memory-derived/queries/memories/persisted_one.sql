UPDATE recollect.memories
SET persisted_at = clock_timestamp()
WHERE tenant_id = $1 AND memory_id = $2 AND version = $3 AND persisted_at IS NULL
