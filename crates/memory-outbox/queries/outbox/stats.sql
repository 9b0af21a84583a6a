-- The length of the queue of the collection $1; null: the serving one's.
SELECT count(*) FILTER (WHERE o.dead_at IS NULL) AS pending,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(o.created_at) FILTER (WHERE o.dead_at IS NULL)), 0)
        ::double precision AS lag_seconds,
    count(*) FILTER (WHERE o.dead_at IS NOT NULL) AS dead_letters
FROM recollect.outbox o
WHERE o.target = (SELECT recollect.collection_number($1))
