SELECT COALESCE(sum(n.waiting_count), 0)::bigint,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(n.waiting_since)), 0)::double precision,
    count(*) FILTER (WHERE n.failures > 0),
    (SELECT count(*) FROM recollect.object_deletions)
FROM recollect.node_memories n
WHERE n.waiting_since IS NOT NULL
