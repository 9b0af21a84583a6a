SELECT p.app_id, p.policy, p.version, p.updated_at, p.ordinal
FROM recollect.app_policies p
WHERE p.tenant_id = $1 AND p.ordinal > $2
ORDER BY p.ordinal
LIMIT $3
