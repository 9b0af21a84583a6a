-- Of the servers $1, whose last beats were $2: whether any was heard of since, or has stopped as it
-- should, and whether all were silent for $3 seconds.
SELECT bool_or(s.server_id IS NULL OR s.beat_at <> known.beat_at) AS any_heard,
    bool_and(s.beat_at < clock_timestamp() - make_interval(secs => $3::double precision)) AS all_silent
FROM unnest($1::uuid[], $2::timestamptz[]) AS known (server_id, beat_at)
LEFT JOIN recollect.servers s ON s.server_id = known.server_id
