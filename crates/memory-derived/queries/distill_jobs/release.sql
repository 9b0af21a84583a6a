UPDATE recollect.distill_jobs j
SET lease_id = NULL, available_at = clock_timestamp(), attempts = j.attempts - 1
WHERE j.tenant_id = $1 AND j.thread_id = $2 AND j.lease_id = $3
