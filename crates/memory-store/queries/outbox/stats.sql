SELECT count(*) FILTER (WHERE o.dead_at IS NULL),
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(o.created_at) FILTER (WHERE o.dead_at IS NULL)), 0)
        ::double precision,
    count(*) FILTER (WHERE o.dead_at IS NOT NULL)
FROM recollect.outbox o
