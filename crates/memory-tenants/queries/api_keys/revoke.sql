WITH gone AS (
    DELETE FROM recollect.api_keys k
    WHERE k.tenant_id = $1 AND k.name = $2
    RETURNING k.name
)
SELECT g.name, recollect.audit($1, 'revoke_api_key', NULL, g.name, 1)
FROM gone g
