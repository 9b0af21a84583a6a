WITH gone AS (
    DELETE FROM recollect.secrets s
    WHERE s.tenant_id = $1 AND s.name = $2
    RETURNING s.name
)
SELECT g.name, recollect.audit($1, 'delete_secret', NULL, g.name, 1)
FROM gone g
