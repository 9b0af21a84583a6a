-- Jumps from one tenant to the next in the primary key, however many threads
-- each has.
WITH RECURSIVE tenants (tenant_id) AS (
    (SELECT t.tenant_id FROM recollect.threads t WHERE t.tenant_id > $1 ORDER BY t.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT t.tenant_id FROM recollect.threads t
            WHERE t.tenant_id > tenants.tenant_id ORDER BY t.tenant_id LIMIT 1)
    FROM tenants
    WHERE tenants.tenant_id IS NOT NULL
)
SELECT tenants.tenant_id FROM tenants WHERE tenants.tenant_id IS NOT NULL LIMIT $2
