SELECT count(*),
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - min(j.created_at)), 0)::double precision,
    count(*) FILTER (WHERE j.failing_since IS NOT NULL),
    COALESCE((array_agg(j.last_error ORDER BY j.failing_since DESC) FILTER (WHERE j.failing_since IS NOT NULL))[1], '')
FROM recollect.distill_jobs j
WHERE j.tenant_id = $1
