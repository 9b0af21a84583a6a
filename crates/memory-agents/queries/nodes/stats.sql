SELECT COALESCE(sum(n.waiting_count), 0)::bigint AS waiting_count,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(n.waiting_since)), 0)::double precision AS lag_seconds,
    count(*) FILTER (WHERE n.failures > 0) AS failing_count,
    (SELECT count(*) FROM recollect.object_deletions) AS deletion_count
FROM recollect.node_memories n
WHERE n.waiting_since IS NOT NULL
