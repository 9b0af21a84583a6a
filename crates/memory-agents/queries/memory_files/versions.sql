-- The versions of a file of owner $2, in the namespace $3, the newest first, at most $4.
SELECT d.key, d.value ->> 'change' AS change, COALESCE(octet_length(d.value ->> 'text'), 0)::bigint AS text_bytes,
    d.created_at, d.expires_at
FROM recollect.documents d
WHERE d.tenant_id = $1 AND d.owner = $2 AND d.path = recollect.document_path($3::text[])
    AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
ORDER BY d.key DESC
LIMIT $4
