SELECT count(*) AS waiting_count,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(j.created_at)), 0)::double precision AS lag_seconds,
    count(*) FILTER (WHERE j.failing_since IS NOT NULL) AS failing_count,
    COALESCE((array_agg(j.last_error ORDER BY j.failing_since DESC) FILTER (WHERE j.failing_since IS NOT NULL))[1], '')
        AS last_error
FROM recollect.distill_jobs j
WHERE j.tenant_id = $1
