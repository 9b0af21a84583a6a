-- Erases documents of a tenant that have expired, at most p_limit. Returns how many.
CREATE OR REPLACE FUNCTION recollect.sweep_documents(p_tenant text, p_actor text, p_limit bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    DELETE FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.ctid = ANY (ARRAY(
        SELECT x.ctid FROM recollect.documents x
        WHERE x.tenant_id = p_tenant AND x.expires_at <= clock_timestamp()
        ORDER BY x.expires_at
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count > 0 THEN
        PERFORM recollect.audit(p_tenant, 'expire_documents', NULL, '', v_count);
    END IF;
    RETURN v_count;
END;
$$;
