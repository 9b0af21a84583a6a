-- Lets documents live for their ttl from now on, if they have one and have not expired.
CREATE OR REPLACE FUNCTION recollect.refresh_documents(p_tenant text, p_owner bytea, p_paths text[], p_keys text[])
RETURNS void
LANGUAGE sql AS $$
    UPDATE recollect.documents d
    SET expires_at = clock_timestamp() + d.ttl
    FROM (
        SELECT x.path, x.key
        FROM unnest(p_paths, p_keys) AS u (path, key)
        JOIN recollect.documents x
            ON x.tenant_id = p_tenant AND x.owner = p_owner AND x.path = u.path AND x.key = u.key
        -- Not by the index over expiry, which has the documents of all tenants.
        WHERE x.ttl IS NOT NULL AND COALESCE(x.expires_at > clock_timestamp(), false)
        -- In order, to avoid deadlocks.
        ORDER BY x.path, x.key
        FOR NO KEY UPDATE OF x
    ) AS due
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = due.path AND d.key = due.key
$$;
