-- The files of references, in the order of the references, until their texts fill an
-- answer.
SELECT found.transfer_method, found.reference, found.type, found.storage_key, found.name,
    found.mime_type, found.size_bytes, found.created_at, found.updated_at, found.place
FROM (
    SELECT f.*, wanted.place,
        sum(octet_length(f.reference) + octet_length(f.storage_key) + octet_length(f.name)
            + octet_length(f.mime_type)) OVER (
            ORDER BY wanted.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM unnest($2::bytea[]) WITH ORDINALITY AS wanted (digest, place)
    JOIN recollect.files f ON f.tenant_id = $1 AND f.digest = wanted.digest
) AS found
WHERE COALESCE(found.bytes_before, 0) < $3::bigint
ORDER BY found.place
