-- The key of an advisory lock of a tenant. A transaction that creates something holds it
-- shared; one that begins to erase a user, an app or the tenant holds it alone.
CREATE OR REPLACE FUNCTION recollect.creation_lock(p_tenant text)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN hashtextextended('creation' || chr(1) || p_tenant, 0);
END;
$$;
