-- The key of the advisory lock that whoever creates something in a tenant holds shared, and
-- whoever begins to erase a user, an app or the tenant holds alone.
CREATE OR REPLACE FUNCTION recollect.creation_lock(p_tenant text)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN hashtextextended('creation' || chr(1) || p_tenant, 0);
END;
$$;
