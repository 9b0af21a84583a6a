-- Reads documents by name, in the order of the names, without missing ones.
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
DECLARE
    v_wanted text[] := recollect.document_paths(p_namespaces);
    v_paths text[];
    v_keys text[];
    v_places bigint[];
    -- The place of the first document beyond; null: none is.
    v_beyond bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT array_agg(s.path ORDER BY s.place) FILTER (WHERE s.fits), array_agg(s.key ORDER BY s.place) FILTER (WHERE s.fits),
        array_agg(s.place ORDER BY s.place) FILTER (WHERE s.fits), min(s.place) FILTER (WHERE NOT s.fits)
    INTO v_paths, v_keys, v_places, v_beyond
    FROM (
        SELECT u.place, d.path, d.key,
            sum(d.size_bytes) OVER running <= p_max_bytes OR row_number() OVER running = 1 AS fits
        FROM unnest(v_wanted, p_keys) WITH ORDINALITY AS u (path, key, place)
        CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
        WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp()
        WINDOW running AS (ORDER BY u.place)
    ) AS s;
    IF p_refresh THEN
        PERFORM recollect.refresh_documents(p_tenant, p_owner, v_paths, v_keys);
    END IF;
    RETURN QUERY
    SELECT u.place, false, d.namespace, d.key, d.value::text, EXTRACT(epoch FROM d.ttl)::double precision,
        d.expires_at, d.created_at, d.updated_at
    FROM unnest(v_paths, v_keys, v_places) AS u (path, key, place)
    CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
    UNION ALL
    SELECT v_beyond, true, ARRAY[]::text[], '', '', NULL, NULL, clock_timestamp(), clock_timestamp()
    WHERE v_beyond IS NOT NULL
    ORDER BY 1;
END;
$$;
