-- The erasure of a user, an app or a tenant. An error of one of its threads is one of its own.
SELECT e.kind, e.app_id, e.user_id, e.step, e.storage_rewritten, e.created_at, e.finished_at,
    COALESCE(NULLIF(e.last_error, ''), (
        SELECT c.last_error FROM recollect.erasures c
        WHERE c.tenant_id = $1 AND c.parent_id = $2 AND c.failing_since IS NOT NULL
        ORDER BY c.failing_since DESC
        LIMIT 1), '') AS last_error
FROM recollect.erasures e
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.kind <> 'thread'
