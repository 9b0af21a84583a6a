-- Whether the tenant's ephemeral threads would be full with p_bytes more in this thread; false for
-- one that is not ephemeral.
CREATE OR REPLACE FUNCTION recollect.checkpoints_full(p_tenant text, p_thread uuid, p_bytes bigint, p_max_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (
            SELECT FROM recollect.threads t
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.idle_ttl IS NOT NULL)
        AND recollect.ephemeral_full(p_tenant, 0, p_bytes, NULL, p_max_bytes);
END;
$$;
