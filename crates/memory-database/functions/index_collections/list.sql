-- The collections and their queues; the serving one comes first.
CREATE OR REPLACE FUNCTION recollect.list_collections()
RETURNS TABLE (
    number integer, collection text, state text, queued boolean, complete boolean,
    pending bigint, lag_seconds double precision, dead_letters bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.number, c.collection, c.state, c.queued_at IS NOT NULL,
        -- The changes queued to fill it are applied, and so are all others but the last minute's.
        c.state IN ('serving', 'beside') AND c.queued_at IS NOT NULL AND q.lag_seconds < 60 AND NOT EXISTS (
            SELECT FROM recollect.outbox o
            WHERE o.target = c.number AND o.dead_at IS NULL AND o.created_at <= c.queued_at),
        q.pending, q.lag_seconds, q.dead_letters
    FROM recollect.index_collections c
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE o.dead_at IS NULL) AS pending,
            COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(o.created_at) FILTER (WHERE o.dead_at IS NULL)), 0)
                ::double precision AS lag_seconds,
            count(*) FILTER (WHERE o.dead_at IS NOT NULL) AS dead_letters
        FROM recollect.outbox o
        WHERE o.target = c.number
    ) AS q
    ORDER BY array_position(ARRAY['serving', 'beside', 'abandoned', 'retired'], c.state), c.number;
END;
$$;
