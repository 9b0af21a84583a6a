-- Deletes the policy of an app.
CREATE OR REPLACE FUNCTION recollect.delete_app_policy(
    p_tenant text, p_actor text, p_app text,
    -- As etag_matches takes it.
    p_etag text,
    -- ok or etag_changed (version: the present one).
    OUT status text, OUT version uuid, OUT deleted boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT p.version INTO version FROM recollect.app_policies p
    WHERE p.tenant_id = p_tenant AND p.app_id = p_app
    FOR UPDATE;
    IF NOT recollect.etag_matches(p_etag, version::text) THEN
        status := 'etag_changed';
        RETURN;
    END IF;
    DELETE FROM recollect.app_policies WHERE tenant_id = p_tenant AND app_id = p_app;
    deleted := FOUND;
    IF deleted THEN
        PERFORM recollect.audit_of(p_tenant, 'delete_app_policy', NULL, p_app, 1, p_app, '');
    END IF;
    status := 'ok';
END;
$$;
