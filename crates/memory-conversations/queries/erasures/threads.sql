SELECT e.erasure_id
FROM recollect.erasures e
WHERE e.tenant_id = $1 AND e.parent_id = $2
LIMIT 10000
