-- Erases documents of a tenant that have expired, at most p_limit. Returns how many.
CREATE OR REPLACE FUNCTION recollect.sweep_documents(p_tenant text, p_actor text, p_limit bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_owner record;
    v_count bigint := 0;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    FOR v_owner IN
        WITH expired AS (
            DELETE FROM recollect.documents d
            WHERE d.tenant_id = p_tenant AND d.ctid = ANY (ARRAY(
                SELECT x.ctid FROM recollect.documents x
                WHERE x.tenant_id = p_tenant AND x.expires_at <= clock_timestamp()
                ORDER BY x.expires_at
                LIMIT p_limit
                FOR UPDATE SKIP LOCKED))
            RETURNING d.app_id, d.user_id
        )
        SELECT x.app_id, x.user_id, count(*) AS count FROM expired x GROUP BY x.app_id, x.user_id
    LOOP
        -- A record for each owner, so that who follows one learns of it.
        PERFORM recollect.audit_of(
            p_tenant, 'expire_documents', NULL, '', v_owner.count, v_owner.app_id, v_owner.user_id);
        v_count := v_count + v_owner.count;
    END LOOP;
    RETURN v_count;
END;
$$;
