-- Lets documents live for their ttl from now on, if they have one and have not expired.
CREATE OR REPLACE FUNCTION recollect.refresh_documents(p_tenant text, p_owner bytea, p_paths text[], p_keys text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_due record;
BEGIN
    -- In order, to avoid deadlocks. One at a time: for a join, a plan that was made while the table
    -- was small reads all documents of the owner for each name.
    FOR v_due IN
        SELECT DISTINCT u.path COLLATE "C" AS path, u.key COLLATE "C" AS key
        FROM unnest(p_paths, p_keys) AS u (path, key)
        ORDER BY 1, 2
    LOOP
        UPDATE recollect.documents d
        SET expires_at = clock_timestamp() + d.ttl
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_due.path AND d.key = v_due.key
            -- Not by the index over expiry, which has the documents of all tenants.
            AND d.ttl IS NOT NULL AND COALESCE(d.expires_at > clock_timestamp(), false);
    END LOOP;
END;
$$;
