SELECT f.transfer_method, f.reference, f.type, f.storage_key, f.name, f.mime_type, f.size_bytes,
    f.created_at, f.updated_at, f.ordinal
FROM recollect.files f
WHERE f.tenant_id = $1 AND f.transfer_method = $2
    AND f.ordinal < $3
ORDER BY f.ordinal DESC
LIMIT $4
