SELECT count(*), COALESCE(sum(t.content_bytes), 0)::bigint
FROM recollect.threads t
WHERE t.idle_ttl IS NOT NULL
