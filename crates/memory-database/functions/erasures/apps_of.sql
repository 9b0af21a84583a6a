-- The apps of a tenant that have threads, memories or documents, each found by one lookup in an
-- index.
CREATE OR REPLACE FUNCTION recollect.apps_of(p_tenant text)
RETURNS text[]
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE apps (app_id) AS (
        SELECT ''
        UNION ALL
        SELECT least(
            (SELECT t.app_id FROM recollect.threads t
             WHERE t.tenant_id = p_tenant AND t.app_id > apps.app_id ORDER BY t.app_id LIMIT 1),
            (SELECT m.app_id FROM recollect.memories m
             WHERE m.tenant_id = p_tenant AND m.app_id > apps.app_id ORDER BY m.app_id LIMIT 1),
            (SELECT d.app_id FROM recollect.documents d
             WHERE d.tenant_id = p_tenant AND d.app_id > apps.app_id ORDER BY d.app_id LIMIT 1))
        FROM apps
        WHERE apps.app_id IS NOT NULL
    )
    SELECT array_agg(apps.app_id) FROM apps WHERE apps.app_id <> ''
$$;
