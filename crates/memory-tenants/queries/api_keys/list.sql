SELECT k.name, k.scopes, k.created_at, k.expires_at, k.bounds, k.ordinal
FROM recollect.api_keys k
WHERE k.tenant_id = $1 AND k.ordinal < $2
ORDER BY k.ordinal DESC
LIMIT $3
