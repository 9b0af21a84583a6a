SELECT m.message_id, m.thread_id, m.seq, hashtextextended(m.metadata::text, 0) AS metadata_hash
FROM (SELECT DISTINCT u.id FROM unnest($2::uuid[]) AS u (id)) AS requested
CROSS JOIN LATERAL recollect.message_by_id($1, requested.id) AS m
CROSS JOIN LATERAL recollect.thread_by_id($1, m.thread_id) AS t
WHERE m.deleted_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
