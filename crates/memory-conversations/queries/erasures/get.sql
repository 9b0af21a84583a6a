-- The erasure of a user, an app or a tenant. An error of one of its threads is one of its own.
SELECT e.erasure_id, e.kind, e.app_id, e.user_id, e.actor, e.step, e.storage_rewritten, e.created_at, e.finished_at,
    EXISTS (
        SELECT FROM recollect.threads t
        WHERE t.tenant_id = $1 AND (e.app_id IS NULL OR t.app_id = e.app_id)
            AND (e.user_id IS NULL OR t.user_id = e.user_id))
    OR EXISTS (
        SELECT FROM recollect.memories m
        WHERE m.tenant_id = $1 AND (e.app_id IS NULL OR m.app_id = e.app_id)
            AND (e.user_id IS NULL OR m.user_id = e.user_id)) AS used_again,
    COALESCE(NULLIF(e.last_error, ''), (
        SELECT c.last_error FROM recollect.erasures c
        WHERE c.tenant_id = $1 AND c.parent_id = $2 AND c.failing_since IS NOT NULL
        ORDER BY c.failing_since DESC
        LIMIT 1), '') AS last_error
FROM recollect.erasures e
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.kind <> 'thread'
