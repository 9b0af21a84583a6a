UPDATE recollect.distill_jobs j
SET lease_id = NULL, available_at = clock_timestamp()
WHERE j.lease_id IS NOT NULL
