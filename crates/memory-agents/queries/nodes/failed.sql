UPDATE recollect.node_memories n
SET last_error = $4, failed_at = clock_timestamp(), failures = n.failures + 1,
    -- The pause doubles each time, from one second to five minutes.
    retry_at = clock_timestamp() + make_interval(secs => LEAST(300, power(2, LEAST(n.failures, 10))))
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3
