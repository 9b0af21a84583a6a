-- Queues a thread so that a worker distills it; p_bulk after all threads that are queued
-- without it.
CREATE OR REPLACE FUNCTION recollect.enqueue_distill(p_tenant text, p_thread uuid, p_bulk boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- A job that is not claimed yet will be claimed after this commits, because its
    -- row is locked until then. A postponed job is due now; a failed one keeps its
    -- pause.
    INSERT INTO recollect.distill_jobs AS j (tenant_id, thread_id, bulk)
    VALUES (p_tenant, p_thread, p_bulk)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET wanted = j.wanted + 1,
        bulk = j.bulk AND p_bulk,
        available_at = CASE WHEN j.lease_id IS NULL AND j.failing_since IS NULL
            THEN LEAST(j.available_at, clock_timestamp()) ELSE j.available_at END,
        created_at = LEAST(j.created_at, clock_timestamp())
    WHERE j.lease_id IS NOT NULL
        OR (j.failing_since IS NULL AND j.available_at > clock_timestamp())
        OR (j.bulk AND NOT p_bulk);
END;
$$;
