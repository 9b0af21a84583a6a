WITH made AS (
    INSERT INTO recollect.api_keys (tenant_id, name, digest, scopes, expires_at, bounds)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (tenant_id, name) DO NOTHING
    RETURNING name, scopes, created_at, expires_at, bounds
)
SELECT m.name, m.scopes, m.created_at, m.expires_at, m.bounds, recollect.audit($1, 'create_api_key', NULL, m.name, 1)
FROM made m
