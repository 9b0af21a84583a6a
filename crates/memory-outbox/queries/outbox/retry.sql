WITH given_back AS (
    UPDATE recollect.outbox o
    SET lease_id = NULL,
        last_error = f.error,
        available_at = clock_timestamp() + make_interval(secs => f.delay),
        dead_at = CASE WHEN o.attempts >= $5 THEN clock_timestamp() END,
        dead_order = CASE WHEN o.attempts >= $5 THEN nextval('recollect.dead_letters') END
    FROM unnest($2::bigint[], $3::text[], $4::double precision[]) AS f (id, error, delay)
    WHERE o.id = f.id AND o.dead_at IS NULL AND o.lease_id = $1
    RETURNING o.dead_at
)
SELECT count(given_back.dead_at) FROM given_back
