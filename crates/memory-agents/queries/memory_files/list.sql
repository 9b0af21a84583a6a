-- The files of owner $2 in the namespace $3 and below it, in order, at most $4.
SELECT d.namespace, d.key, d.value ->> 'id' AS file_id, d.value ->> 'version' AS version, d.updated_at,
    COALESCE(octet_length(d.value ->> 'text'), 0)::bigint AS text_bytes
FROM recollect.documents d
WHERE d.tenant_id = $1 AND d.owner = $2
    AND d.path >= recollect.document_path($3::text[])
    AND d.path < recollect.document_path_end(recollect.document_path($3::text[]))
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
ORDER BY d.path, d.key
LIMIT $4
