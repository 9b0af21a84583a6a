-- Begins to erase a user (p_app, p_user; in all apps without p_app), an app (p_app) or a tenant,
-- as p_kind says. From then on nothing is created in it until it is erased. Returns the unfinished erasure of the same
-- kind if there is one.
CREATE OR REPLACE FUNCTION recollect.begin_erasure(
    p_tenant text, p_actor text, p_erasure uuid, p_kind text, p_app text, p_user text
)
RETURNS uuid
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_erasure uuid;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Waits for calls that are creating something now: it is erased too.
    PERFORM pg_advisory_xact_lock(recollect.creation_lock(p_tenant));
    SELECT e.erasure_id INTO v_erasure FROM recollect.erasures e
    WHERE e.tenant_id = p_tenant AND e.kind = p_kind AND e.finished_at IS NULL
        AND e.app_id IS NOT DISTINCT FROM p_app AND e.user_id IS NOT DISTINCT FROM p_user;
    IF FOUND THEN
        RETURN v_erasure;
    END IF;
    INSERT INTO recollect.erasures (tenant_id, erasure_id, kind, app_id, user_id, actor, step)
    VALUES (p_tenant, p_erasure, p_kind, p_app, p_user, p_actor, 'threads');
    CASE p_kind
        WHEN 'user' THEN PERFORM recollect.audit_of(p_tenant, 'delete_user', NULL, p_erasure::text, 1, p_app, p_user);
        WHEN 'app' THEN PERFORM recollect.audit_of(p_tenant, 'delete_app', NULL, p_erasure::text, 1, p_app, p_user);
        ELSE PERFORM recollect.audit_of(p_tenant, 'delete_tenant', NULL, p_erasure::text, 1, p_app, p_user);
    END CASE;
    RETURN p_erasure;
END;
$$;
