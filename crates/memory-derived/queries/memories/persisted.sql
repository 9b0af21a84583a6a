-- Records that the index has memories, each in the state of a version: one that was changed
-- since is queued again. Returns memories that another transaction holds, which are recorded one
-- by one (memories/persisted_one): changes of memories lock them in any order, under
-- lock_memories, so this statement must not wait for one while it holds others.
WITH free AS (
    SELECT m.memory_id
    FROM recollect.memories m
    JOIN unnest($2::uuid[], $3::bigint[]) AS done (memory_id, version)
        ON m.memory_id = done.memory_id AND m.version = done.version
    WHERE m.tenant_id = $1 AND m.persisted_at IS NULL
    FOR NO KEY UPDATE OF m SKIP LOCKED
),
recorded AS (
    UPDATE recollect.memories m
    SET persisted_at = clock_timestamp()
    FROM free
    WHERE m.tenant_id = $1 AND m.memory_id = free.memory_id
    RETURNING m.memory_id
)
SELECT m.memory_id, m.version
FROM recollect.memories m
JOIN unnest($2::uuid[], $3::bigint[]) AS done (memory_id, version)
    ON m.memory_id = done.memory_id AND m.version = done.version
WHERE m.tenant_id = $1 AND m.persisted_at IS NULL
    AND m.memory_id NOT IN (SELECT r.memory_id FROM recorded r)
