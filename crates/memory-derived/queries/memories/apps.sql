-- Jumps from one app to the next in the index, at a cost independent of the number of
-- memories.
WITH RECURSIVE apps (tenant_id, app_id) AS (
    (SELECT m.tenant_id, m.app_id FROM recollect.memories m
     WHERE (m.tenant_id, m.app_id) > ($1, $2)
     ORDER BY m.tenant_id, m.app_id
     LIMIT 1)
    UNION ALL
    SELECT next.tenant_id, next.app_id
    FROM apps
    CROSS JOIN LATERAL (
        SELECT m.tenant_id, m.app_id FROM recollect.memories m
        WHERE (m.tenant_id, m.app_id) > (apps.tenant_id, apps.app_id)
        ORDER BY m.tenant_id, m.app_id
        LIMIT 1
    ) AS next
)
SELECT apps.tenant_id, apps.app_id FROM apps LIMIT $3
