-- Deletes a subscription. Its events, which may be many, are swept.
WITH gone AS (
    DELETE FROM recollect.subscriptions s
    WHERE s.tenant_id = $1 AND s.name = $2
    RETURNING s.name
)
SELECT g.name, recollect.audit($1, 'delete_subscription', NULL, g.name, 1)
FROM gone g
