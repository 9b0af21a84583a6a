-- Reads documents by name, in the order of the names; those that do not exist are left out.
CREATE OR REPLACE FUNCTION recollect.get_documents(
    p_tenant text, p_owner bytea, p_namespaces text[], p_keys text[],
    -- Documents that have a ttl live for it from now on.
    p_refresh boolean,
    p_max_bytes bigint
)
RETURNS TABLE (
    -- The place of the name, from 1.
    place bigint,
    -- Whether the values up to this one have more than p_max_bytes; never the first one. It is
    -- the last row.
    beyond boolean,
    namespace text[], key text, value text, ttl_seconds double precision, expires_at timestamptz,
    created_at timestamptz, updated_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF p_refresh THEN
        PERFORM recollect.refresh_documents(p_tenant, p_owner, p_namespaces, p_keys);
    END IF;
    RETURN QUERY
    SELECT page.place, page.beyond, page.namespace, page.key, CASE WHEN page.beyond THEN '' ELSE page.value::text END,
        EXTRACT(epoch FROM page.ttl)::double precision, page.expires_at, page.created_at, page.updated_at
    FROM (
        SELECT sized.*, sized.number > 1 AND sized.running_bytes > p_max_bytes AS beyond,
            count(*) FILTER (WHERE sized.number > 1 AND sized.running_bytes > p_max_bytes)
                OVER (ORDER BY sized.number) AS beyond_count
        FROM (
            SELECT u.place, d.namespace, d.key, d.value, d.ttl, d.expires_at, d.created_at, d.updated_at,
                sum(d.size_bytes) OVER (ORDER BY u.place) AS running_bytes,
                row_number() OVER (ORDER BY u.place) AS number
            FROM unnest(p_namespaces, p_keys) WITH ORDINALITY AS u (namespace, key, place)
            JOIN recollect.documents d
                ON d.tenant_id = p_tenant AND d.owner = p_owner
                AND d.namespace = recollect.json_to_texts(u.namespace::jsonb) AND d.key = u.key
            WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp()
        ) AS sized
    ) AS page
    WHERE page.beyond_count <= 1
    ORDER BY page.place;
END;
$$;
