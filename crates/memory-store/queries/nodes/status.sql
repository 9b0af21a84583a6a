SELECT COALESCE(sum(n.waiting_count), 0)::bigint,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(n.waiting_since)), 0)::double precision,
    count(*) FILTER (WHERE n.failures > 0),
    (SELECT count(*) FROM recollect.object_deletions d WHERE d.tenant_id = $1),
    COALESCE((
        SELECT f.last_error FROM recollect.node_memories f
        WHERE f.tenant_id = $1 AND f.failed_at IS NOT NULL
        ORDER BY f.failed_at DESC
        LIMIT 1), '')
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND (n.waiting_since IS NOT NULL OR n.failures > 0)
