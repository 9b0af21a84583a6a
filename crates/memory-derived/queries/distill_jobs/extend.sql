UPDATE recollect.distill_jobs j
SET available_at = clock_timestamp() + make_interval(secs => $4)
WHERE j.tenant_id = $1 AND j.thread_id = $2 AND j.lease_id = $3
