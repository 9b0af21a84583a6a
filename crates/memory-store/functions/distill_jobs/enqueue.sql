-- Queues a thread so that a worker distills it.
CREATE OR REPLACE FUNCTION recollect.enqueue_distill(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- A job that is not claimed yet will be claimed after this commits, because its
    -- row is locked until then. A postponed job is due now; a failed one keeps its
    -- pause.
    INSERT INTO recollect.distill_jobs AS j (tenant_id, thread_id)
    VALUES (p_tenant, p_thread)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET wanted = j.wanted + 1,
        available_at = CASE WHEN j.lease_id IS NULL THEN clock_timestamp() ELSE j.available_at END,
        created_at = LEAST(j.created_at, clock_timestamp())
    WHERE j.lease_id IS NOT NULL
        OR (j.failing_since IS NULL AND j.available_at > clock_timestamp());
END;
$$;
