-- Only in the version that was indexed: one that was changed since is queued again. Locked
-- in the order of erase_memories.
WITH written AS (
    SELECT m.memory_id
    FROM recollect.memories m
    JOIN unnest($2::uuid[], $3::bigint[]) AS done (memory_id, version)
        ON m.memory_id = done.memory_id AND m.version = done.version
    WHERE m.tenant_id = $1 AND m.persisted_at IS NULL
    ORDER BY m.memory_id
    FOR NO KEY UPDATE OF m
)
UPDATE recollect.memories m
SET persisted_at = clock_timestamp()
FROM written
WHERE m.tenant_id = $1 AND m.memory_id = written.memory_id
