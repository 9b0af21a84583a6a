-- Lets documents live for their ttl from now on, if they have one and have not expired.
CREATE OR REPLACE FUNCTION recollect.refresh_documents(
    p_tenant text, p_owner bytea, p_namespaces text[], p_keys text[]
)
RETURNS void
LANGUAGE sql AS $$
    UPDATE recollect.documents d
    SET expires_at = clock_timestamp() + d.ttl
    FROM (
        SELECT x.namespace, x.key
        FROM unnest(p_namespaces, p_keys) AS u (namespace, key)
        JOIN recollect.documents x
            ON x.tenant_id = p_tenant AND x.owner = p_owner
            AND x.namespace = recollect.json_to_texts(u.namespace::jsonb) AND x.key = u.key
        WHERE x.ttl IS NOT NULL AND x.expires_at > clock_timestamp()
        -- In order, to avoid deadlocks.
        ORDER BY x.namespace, x.key
        FOR NO KEY UPDATE OF x
    ) AS due
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.namespace = due.namespace AND d.key = due.key
$$;
