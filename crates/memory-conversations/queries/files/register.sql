WITH stored AS (
    INSERT INTO recollect.files AS f (tenant_id, digest, transfer_method, reference, type, storage_key,
        name, mime_type, size_bytes, created_at, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, now, now
    FROM (SELECT clock_timestamp() AS now) AS clock
    -- Its place in the list and its creation time stay.
    ON CONFLICT (tenant_id, digest) DO UPDATE
    SET type = EXCLUDED.type, storage_key = EXCLUDED.storage_key, name = EXCLUDED.name,
        mime_type = EXCLUDED.mime_type, size_bytes = EXCLUDED.size_bytes,
        updated_at = EXCLUDED.updated_at
    -- xmax is not 0 where an existing row was updated.
    RETURNING f.created_at, f.updated_at, f.xmax = 0 AS created
)
SELECT stored.created_at, stored.updated_at, stored.created,
    recollect.audit($1, 'register_file', NULL, $10, 1)
FROM stored
