-- Jumps from one tenant to the next in the primary keys, at a cost independent of the
-- number of threads and memories. LEAST ignores null.
WITH RECURSIVE tenants (tenant_id) AS (
    SELECT LEAST(
        (SELECT t.tenant_id FROM recollect.threads t WHERE t.tenant_id > $1 ORDER BY t.tenant_id LIMIT 1),
        (SELECT m.tenant_id FROM recollect.memories m WHERE m.tenant_id > $1 ORDER BY m.tenant_id LIMIT 1))
    UNION ALL
    SELECT LEAST(
        (SELECT t.tenant_id FROM recollect.threads t
         WHERE t.tenant_id > tenants.tenant_id ORDER BY t.tenant_id LIMIT 1),
        (SELECT m.tenant_id FROM recollect.memories m
         WHERE m.tenant_id > tenants.tenant_id ORDER BY m.tenant_id LIMIT 1))
    FROM tenants
    WHERE tenants.tenant_id IS NOT NULL
)
SELECT tenants.tenant_id FROM tenants WHERE tenants.tenant_id IS NOT NULL LIMIT $2
