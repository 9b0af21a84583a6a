-- Ends the run of a worker over a thread. p_next is the size of the path at which the
-- next run is due, and p_after the seconds after which it is due at the latest; null
-- where only the size counts. False where a run was requested since the job was claimed:
-- the job is due again.
CREATE OR REPLACE FUNCTION recollect.finish_distill(
    p_tenant text, p_thread uuid, p_lease uuid, p_wanted bigint, p_next bigint, p_after double precision
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_path bigint;
    v_wanted bigint;
BEGIN
    -- Without waiting for the disk, so that no append waits for the row: a crash of
    -- the machine costs another run.
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('synchronous_commit', 'off', true);
    -- Locks both rows in the order in which an append does.
    SELECT t.path_tokens INTO v_path
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    FOR NO KEY UPDATE;
    SELECT j.wanted INTO v_wanted
    FROM recollect.distill_jobs j
    WHERE j.tenant_id = p_tenant AND j.thread_id = p_thread AND j.lease_id = p_lease
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF v_path IS NULL OR (v_wanted = p_wanted AND v_path < p_next) THEN
        UPDATE recollect.threads SET distill_at = p_next WHERE tenant_id = p_tenant AND thread_id = p_thread;
        IF p_after IS NULL OR v_path IS NULL THEN
            DELETE FROM recollect.distill_jobs WHERE tenant_id = p_tenant AND thread_id = p_thread;
        ELSE
            -- Its waiting time starts then.
            UPDATE recollect.distill_jobs
            SET lease_id = NULL, available_at = clock_timestamp() + make_interval(secs => p_after),
                created_at = clock_timestamp() + make_interval(secs => p_after),
                attempts = 0, last_error = '', failing_since = NULL
            WHERE tenant_id = p_tenant AND thread_id = p_thread;
        END IF;
        RETURN true;
    END IF;
    UPDATE recollect.distill_jobs
    SET lease_id = NULL, available_at = clock_timestamp(), created_at = clock_timestamp(),
        attempts = 0, last_error = '', failing_since = NULL
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    RETURN false;
END;
$$;
