-- What is left of deleted files of owner $2 in the namespace $3 and below it, in order.
SELECT d.namespace, d.key, d.value::text AS value
FROM recollect.documents d
WHERE d.tenant_id = $1 AND d.owner = $2
    AND d.path >= recollect.document_path($3::text[])
    AND d.path < recollect.document_path_end(recollect.document_path($3::text[]))
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
ORDER BY d.path, d.key
