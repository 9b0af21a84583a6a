-- Raises RC003 while a user, its app (p_user null: only the app) or the tenant is being erased.
-- Otherwise no such erasure begins before the transaction ends. Called before other locks are
-- taken.
CREATE OR REPLACE FUNCTION recollect.allow_creation(p_tenant text, p_app text, p_user text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(recollect.creation_lock(p_tenant));
    IF EXISTS (
        SELECT FROM recollect.erasures e
        WHERE e.tenant_id = p_tenant AND e.kind <> 'thread' AND e.finished_at IS NULL
            AND (e.app_id IS NULL OR e.app_id = p_app) AND (e.user_id IS NULL OR e.user_id = p_user))
    THEN
        RAISE EXCEPTION 'it is being erased' USING ERRCODE = 'RC003';
    END IF;
END;
$$;
