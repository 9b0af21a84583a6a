-- Rows that are locked now are skipped, so that this does not wait.
UPDATE recollect.memories m
SET last_used_on = (clock_timestamp() AT TIME ZONE 'UTC')::date
FROM (
    SELECT u.memory_id FROM recollect.memories u
    WHERE u.tenant_id = $1 AND u.memory_id = ANY ($2)
        AND u.last_used_on IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date
    FOR NO KEY UPDATE SKIP LOCKED
) AS free
WHERE m.tenant_id = $1 AND m.memory_id = free.memory_id
