-- Whether a tenant's ephemeral threads would exceed a limit with p_threads more of them or
-- p_bytes more of their messages; null means no limit. Calls that create or fill them wait
-- for each other at the tenant's row of totals until they commit, so that together they do
-- not exceed a limit.
CREATE OR REPLACE FUNCTION recollect.ephemeral_full(
    p_tenant text, p_threads bigint, p_bytes bigint, p_max_threads bigint, p_max_bytes bigint
)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_total record;
BEGIN
    LOOP
        SELECT e.thread_count, e.content_bytes INTO v_total
        FROM recollect.ephemeral_totals e
        WHERE e.tenant_id = p_tenant
        FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO recollect.ephemeral_totals (tenant_id, thread_count, content_bytes)
        VALUES (p_tenant, 0, 0)
        ON CONFLICT DO NOTHING;
    END LOOP;
    IF COALESCE(v_total.thread_count + p_threads <= p_max_threads, true)
        AND COALESCE(v_total.content_bytes + p_bytes <= p_max_bytes, true)
    THEN
        RETURN false;
    END IF;
    -- The totals include threads that have expired and are not erased yet.
    SELECT count(*) AS thread_count, COALESCE(sum(t.content_bytes), 0) AS content_bytes INTO v_total
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.idle_ttl IS NOT NULL AND t.expires_at > clock_timestamp();
    RETURN COALESCE(v_total.thread_count + p_threads > p_max_threads, false)
        OR COALESCE(v_total.content_bytes + p_bytes > p_max_bytes, false);
END;
$$;
