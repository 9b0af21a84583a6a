-- The files with these digests, in their order, until their texts fill p_max_bytes.
CREATE OR REPLACE FUNCTION recollect.find_files(p_tenant text, p_digests bytea[], p_max_bytes bigint)
RETURNS TABLE (
    transfer_method text, reference text, type text, storage_key text, name text, mime_type text,
    size_bytes bigint, created_at timestamptz, updated_at timestamptz,
    -- The place of its digest, from 1.
    place bigint
)
LANGUAGE plpgsql STABLE
-- The digests are few, whatever the statistics of a new table say.
SET enable_bitmapscan = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    RETURN QUERY
    SELECT found.transfer_method, found.reference, found.type, found.storage_key, found.name,
        found.mime_type, found.size_bytes, found.created_at, found.updated_at, found.place
    FROM (
        SELECT f.*, wanted.place,
            sum(octet_length(f.reference) + octet_length(f.storage_key) + octet_length(f.name)
                + octet_length(f.mime_type)) OVER (
                ORDER BY wanted.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS bytes_before
        FROM unnest(p_digests) WITH ORDINALITY AS wanted (digest, place)
        CROSS JOIN LATERAL (
            SELECT f.* FROM recollect.files f
            WHERE f.tenant_id = p_tenant AND f.digest = wanted.digest
            OFFSET 0
        ) AS f
    ) AS found
    WHERE COALESCE(found.bytes_before, 0) < p_max_bytes
    ORDER BY found.place;
END;
$$;
