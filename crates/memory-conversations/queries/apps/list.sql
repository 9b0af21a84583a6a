-- The apps that have threads or memories, by app_id, each found by one lookup in an index:
-- after $2.
WITH RECURSIVE apps (app_id, place) AS (
    SELECT $2::text, 0::bigint
    UNION ALL
    SELECT least(
            (SELECT t.app_id FROM recollect.threads t
             WHERE t.tenant_id = $1 AND t.app_id > apps.app_id
                 AND (t.expires_at IS NULL OR t.expires_at > now())
             ORDER BY t.app_id LIMIT 1),
            (SELECT m.app_id FROM recollect.memories m
             WHERE m.tenant_id = $1 AND m.app_id > apps.app_id
             ORDER BY m.app_id LIMIT 1)), apps.place + 1
    FROM apps
    WHERE apps.place < $3::bigint AND apps.app_id IS NOT NULL
)
SELECT apps.app_id,
    (SELECT t.updated_at FROM recollect.threads t
     WHERE t.tenant_id = $1 AND t.app_id = apps.app_id
         AND (t.expires_at IS NULL OR t.expires_at > now())
     ORDER BY t.updated_quarter DESC, t.updated_at DESC
     LIMIT 1) AS updated_at
FROM apps
WHERE apps.place > 0 AND apps.app_id IS NOT NULL
ORDER BY apps.place
