SELECT COALESCE(sum(n.waiting_count), 0)::bigint AS waiting_count,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(n.waiting_since)), 0)::double precision AS lag_seconds,
    count(*) FILTER (WHERE n.failures > 0) AS failing_count,
    (SELECT count(*) FROM recollect.object_deletions d WHERE d.tenant_id = $1) AS deletion_count,
    COALESCE((
        SELECT f.last_error FROM recollect.node_memories f
        WHERE f.tenant_id = $1 AND f.failed_at IS NOT NULL
        ORDER BY f.failed_at DESC
        LIMIT 1), '') AS last_error
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND (n.waiting_since IS NOT NULL OR n.failures > 0)
