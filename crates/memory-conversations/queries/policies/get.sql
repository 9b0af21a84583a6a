SELECT p.policy, p.version, p.updated_at
FROM recollect.app_policies p
WHERE p.tenant_id = $1 AND p.app_id = $2
