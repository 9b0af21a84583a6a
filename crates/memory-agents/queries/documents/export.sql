-- The next documents, at most $8 of at most $9 bytes together, but at least one: after app $4, user
-- $5, the namespace $6, which is a JSON list of labels, and key $7. $2 and $3 filter; null: any.
SELECT s.app_id, s.user_id, s.namespace, s.key, s.value::text AS value, s.text,
    EXTRACT(epoch FROM s.ttl)::double precision AS ttl_seconds, s.expires_at, s.created_at, s.updated_at
FROM (
    SELECT n.*, row_number() OVER so_far AS number,
        sum(n.size_bytes + COALESCE(octet_length(n.text), 0)) OVER so_far AS bytes
    FROM (
        SELECT d.*
        FROM recollect.documents d
        WHERE d.tenant_id = $1
            AND ($2::text IS NULL OR d.app_id = $2)
            AND ($3::text IS NULL OR d.user_id = $3)
            AND (d.app_id, d.user_id, d.path, d.key)
                > ($4, $5, recollect.document_path(recollect.json_to_texts($6::text::jsonb)), $7)
            AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
        ORDER BY d.app_id, d.user_id, d.path, d.key
        LIMIT $8
    ) AS n
    WINDOW so_far AS (ORDER BY n.app_id, n.user_id, n.path, n.key)
) AS s
WHERE s.number = 1 OR s.bytes <= $9::bigint
ORDER BY s.app_id, s.user_id, s.path, s.key
