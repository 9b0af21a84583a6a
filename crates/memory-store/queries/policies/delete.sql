WITH gone AS (
    DELETE FROM recollect.app_policies p
    WHERE p.tenant_id = $1 AND p.app_id = $2
    RETURNING p.app_id
)
SELECT g.app_id, recollect.note($1, 'delete_app_policy', NULL, g.app_id, 1)
FROM gone g
