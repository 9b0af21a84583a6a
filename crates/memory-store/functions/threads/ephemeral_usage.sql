-- How many ephemeral threads a tenant has, and the bytes of their messages. The
-- lock makes those who create or fill them wait for each other until they commit,
-- so that together they do not exceed a limit.
CREATE OR REPLACE FUNCTION recollect.ephemeral_usage(p_tenant text, OUT thread_count bigint, OUT content_bytes bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('recollect.ephemeral ' || p_tenant, 0));
    SELECT count(*), COALESCE(sum(t.content_bytes), 0) INTO thread_count, content_bytes
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.idle_ttl IS NOT NULL AND t.expires_at > clock_timestamp();
END;
$$;
