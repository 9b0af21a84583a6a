-- $4: whether the files of the database were rewritten.
UPDATE recollect.erasures e
SET lease_id = NULL, attempts = 0, last_error = '', failing_since = NULL, step = 'check', available_at = clock_timestamp(),
    storage_rewritten = e.storage_rewritten OR $4
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.lease_id = $3
