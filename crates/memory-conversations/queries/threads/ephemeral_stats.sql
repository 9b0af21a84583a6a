SELECT count(*) AS thread_count, COALESCE(sum(t.content_bytes), 0)::bigint AS content_bytes
FROM recollect.threads t
WHERE t.idle_ttl IS NOT NULL
