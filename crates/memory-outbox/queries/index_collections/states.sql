SELECT c.number, c.collection, c.state, c.emptied, c.queued_at IS NOT NULL AS queued,
    EXTRACT(epoch FROM clock_timestamp() - c.changed_at)::double precision AS age_seconds
FROM recollect.index_collections c
