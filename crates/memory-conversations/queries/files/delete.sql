WITH gone AS (
    DELETE FROM recollect.files f
    WHERE f.tenant_id = $1 AND f.digest = $2
    RETURNING f.digest
)
SELECT recollect.audit($1, 'delete_file', NULL, $3, 1)
FROM gone
