SELECT DISTINCT c.tenant_id
FROM recollect.contents c
WHERE NOT c.settled AND c.held_at < clock_timestamp() - make_interval(secs => $1)
LIMIT $2
