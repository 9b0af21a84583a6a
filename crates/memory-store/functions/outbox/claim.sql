-- Claims waiting changes for a worker, at most p_limit: of each tenant equally many, as far
-- as it has any, the oldest first. Up to 64 tenants have a turn, in the order of their
-- names from the one after p_after on. Claims the changes with this p_bulk alone.
CREATE OR REPLACE FUNCTION recollect.claim_changes(
    p_limit integer, p_lease uuid, p_seconds double precision, p_bulk boolean, p_after text
)
RETURNS TABLE (
    id bigint, tenant_id text, thread_id uuid, message_id uuid, seq bigint, op text, attempts integer,
    created_at timestamptz, kind text, bulk boolean
)
LANGUAGE plpgsql
-- Outdated statistics of the queue could suggest a plan that reads all of it.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenants text[] := '{}';
    v_tenant text := p_after;
    -- Whether the names have begun anew.
    v_again boolean := false;
    v_left integer := p_limit;
    v_share integer;
    v_count integer;
    v_more text[];
BEGIN
    WHILE cardinality(v_tenants) < LEAST(p_limit, 64) LOOP
        -- The first claimable change of the next tenant that has one.
        SELECT o.tenant_id INTO v_tenant
        FROM recollect.outbox o
        WHERE o.bulk = p_bulk AND o.dead_at IS NULL AND o.tenant_id > v_tenant
            AND o.available_at <= clock_timestamp()
        ORDER BY o.bulk, o.tenant_id, o.id
        LIMIT 1;
        IF v_tenant IS NULL AND NOT v_again THEN
            v_again := true;
            v_tenant := '';
            CONTINUE;
        END IF;
        EXIT WHEN v_tenant IS NULL OR (v_again AND v_tenant > p_after);
        v_tenants := v_tenants || v_tenant;
    END LOOP;

    WHILE v_left > 0 AND cardinality(v_tenants) > 0 LOOP
        v_share := ceil(v_left::double precision / cardinality(v_tenants));
        v_more := '{}';
        FOREACH v_tenant IN ARRAY v_tenants LOOP
            EXIT WHEN v_left = 0;
            RETURN QUERY
            WITH next AS MATERIALIZED (
                SELECT o.tenant_id, o.thread_id, o.id
                FROM recollect.outbox o
                -- Not "after the last one seen": a lower id may be committed later.
                WHERE o.bulk = p_bulk AND o.dead_at IS NULL AND o.tenant_id = v_tenant
                    AND o.available_at <= clock_timestamp()
                ORDER BY o.id
                LIMIT LEAST(v_share, v_left)
                FOR UPDATE SKIP LOCKED
            )
            UPDATE recollect.outbox o
            SET lease_id = p_lease,
                available_at = clock_timestamp() + make_interval(secs => p_seconds),
                -- Counted with the claim, so that an attempt that crashes its worker counts.
                attempts = o.attempts + 1
            FROM next
            WHERE o.tenant_id = next.tenant_id AND o.thread_id = next.thread_id AND o.id = next.id
            RETURNING o.id, o.tenant_id, o.thread_id, o.message_id, o.seq, o.op, o.attempts, o.created_at,
                o.kind, o.bulk;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            v_left := v_left - v_count;
            IF v_count >= v_share THEN
                v_more := v_more || v_tenant;
            END IF;
        END LOOP;
        v_tenants := v_more;
    END LOOP;
END;
$$;
GRANT EXECUTE ON FUNCTION recollect.claim_changes(integer, uuid, double precision, boolean, text) TO recollect_worker;
