DELETE FROM recollect.app_policies p
WHERE p.tenant_id = $1 AND p.app_id = $2
RETURNING p.app_id
