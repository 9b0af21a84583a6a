-- The document with key $4 in the namespace $3, which is a JSON list of labels, of owner $2.
SELECT d.app_id, d.user_id, d.namespace, d.key, d.value::text AS value, d.text,
    EXTRACT(epoch FROM d.ttl)::double precision AS ttl_seconds, d.expires_at, d.created_at, d.updated_at
FROM recollect.document_named($1, $2, recollect.document_path(recollect.json_to_texts($3::text::jsonb)), $4) d
WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp()
