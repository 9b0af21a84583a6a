SELECT count(*) AS waiting_count,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(e.created_at)), 0)::double precision AS lag_seconds,
    count(*) FILTER (WHERE e.failing_since IS NOT NULL) AS failing_count,
    COALESCE((array_agg(e.last_error ORDER BY e.failing_since DESC) FILTER (WHERE e.failing_since IS NOT NULL))[1], '')
        AS last_error
FROM recollect.erasures e
WHERE e.tenant_id = $1 AND e.finished_at IS NULL
