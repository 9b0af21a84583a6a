-- Claims threads to distill for a worker, at most p_limit: one of each tenant in turn, the
-- longest due first, in the order of the tenants' names from the one after p_after on.
-- Threads that only an import queued come after all others.
CREATE OR REPLACE FUNCTION recollect.claim_distill_jobs(
    p_limit integer, p_lease uuid, p_seconds double precision, p_after text
)
RETURNS TABLE (tenant_id text, thread_id uuid, wanted bigint, attempts integer, created_at timestamptz)
LANGUAGE plpgsql
-- Outdated statistics of the queue could suggest a plan that reads all of it.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_tenants text[];
    v_tenant text;
    v_due timestamptz;
    v_bulk boolean;
    -- Whether the names have begun anew.
    v_again boolean;
    v_left integer := p_limit;
    v_count integer;
    -- Tenants that are looked at; most may have only threads that are not due.
    v_looks integer := 500;
BEGIN
    IF NOT EXISTS (SELECT FROM recollect.distill_jobs j WHERE j.available_at <= v_now) THEN
        RETURN;
    END IF;
    FOREACH v_bulk IN ARRAY ARRAY[false, true] LOOP
        v_tenants := '{}';
        v_tenant := p_after;
        v_again := false;
        WHILE v_looks > 0 AND cardinality(v_tenants) < v_left LOOP
            v_looks := v_looks - 1;
            SELECT j.tenant_id, j.available_at INTO v_tenant, v_due
            FROM recollect.distill_jobs j
            WHERE j.bulk = v_bulk AND j.tenant_id > v_tenant
            ORDER BY j.bulk, j.tenant_id, j.available_at
            LIMIT 1;
            IF v_tenant IS NULL AND NOT v_again THEN
                v_again := true;
                v_tenant := '';
                CONTINUE;
            END IF;
            EXIT WHEN v_tenant IS NULL OR (v_again AND v_tenant > p_after);
            IF v_due <= v_now THEN
                v_tenants := v_tenants || v_tenant;
            END IF;
        END LOOP;
        -- One thread of each, until none has any.
        WHILE v_left > 0 AND cardinality(v_tenants) > 0 LOOP
            FOREACH v_tenant IN ARRAY v_tenants LOOP
                EXIT WHEN v_left = 0;
                RETURN QUERY
                WITH next AS MATERIALIZED (
                    SELECT j.tenant_id, j.thread_id
                    FROM recollect.distill_jobs j
                    WHERE j.bulk = v_bulk AND j.tenant_id = v_tenant AND j.available_at <= v_now
                    ORDER BY j.available_at
                    LIMIT 1
                    FOR UPDATE SKIP LOCKED
                )
                UPDATE recollect.distill_jobs j
                SET lease_id = p_lease,
                    available_at = clock_timestamp() + make_interval(secs => p_seconds),
                    -- Counted with the claim, so that an attempt that crashes its worker
                    -- counts.
                    attempts = j.attempts + 1
                FROM next
                WHERE j.tenant_id = next.tenant_id AND j.thread_id = next.thread_id
                RETURNING j.tenant_id, j.thread_id, j.wanted, j.attempts, j.created_at;
                GET DIAGNOSTICS v_count = ROW_COUNT;
                v_left := v_left - v_count;
                IF v_count = 0 THEN
                    v_tenants := array_remove(v_tenants, v_tenant);
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    IF v_left > 0 AND v_looks = 0 THEN
        -- Of the tenants that were not looked at.
        RETURN QUERY
        WITH next AS MATERIALIZED (
            SELECT j.tenant_id, j.thread_id
            FROM recollect.distill_jobs j
            WHERE j.available_at <= v_now
            ORDER BY j.available_at
            LIMIT v_left
            FOR UPDATE SKIP LOCKED
        )
        UPDATE recollect.distill_jobs j
        SET lease_id = p_lease, available_at = clock_timestamp() + make_interval(secs => p_seconds),
            attempts = j.attempts + 1
        FROM next
        WHERE j.tenant_id = next.tenant_id AND j.thread_id = next.thread_id
        RETURNING j.tenant_id, j.thread_id, j.wanted, j.attempts, j.created_at;
    END IF;
END;
$$;
GRANT EXECUTE ON FUNCTION recollect.claim_distill_jobs(integer, uuid, double precision, text) TO recollect_worker;
