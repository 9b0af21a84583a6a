SELECT s.name, s.created_at, s.updated_at
FROM recollect.secrets s
WHERE s.tenant_id = $1 AND s.name > $2
ORDER BY s.name
LIMIT $3
