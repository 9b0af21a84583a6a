-- Only as it was written: what was changed since waits in the queue again.
UPDATE recollect.memories m
SET persisted_at = clock_timestamp()
FROM unnest($2::uuid[], $3::bigint[]) AS done (memory_id, version)
WHERE m.tenant_id = $1 AND m.memory_id = done.memory_id AND m.version = done.version
    AND m.persisted_at IS NULL
