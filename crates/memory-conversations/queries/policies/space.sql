SELECT p.app_id
FROM recollect.app_policies p
WHERE p.tenant_id = $1 AND p.memory_space = $2
ORDER BY p.ordinal
LIMIT $3
