-- Whether the transaction's caller reaches the data of a thread. Rows that are left of an erased thread are
-- within all bounds, so that its erasure can delete them. The service cannot see threads outside its bounds, so this
-- function runs as a separate role, which may read no content.
CREATE OR REPLACE FUNCTION recollect.thread_in_bounds(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_app text;
    v_user text;
BEGIN
    SELECT t.app_id, t.user_id INTO v_app, v_user
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    RETURN NOT FOUND OR recollect.in_bounds(v_app, v_user);
END;
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT EXECUTE ON FUNCTION recollect.allowed(text, text), recollect.in_bounds(text, text), recollect.is_unbound() TO recollect_search;
GRANT CREATE ON SCHEMA recollect TO recollect_search;
ALTER FUNCTION recollect.thread_in_bounds(text, uuid) OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;
