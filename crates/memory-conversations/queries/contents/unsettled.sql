SELECT DISTINCT h.tenant_id
FROM recollect.content_holders h
WHERE NOT h.settled AND h.held_at < clock_timestamp() - make_interval(secs => $1) - current_setting('statement_timeout')::interval
LIMIT $2
