-- The deletions of users, apps and the tenant, the newest first, after the place ($2, $3).
SELECT e.erasure_id, e.kind, e.app_id, e.user_id, e.actor, e.step, e.storage_rewritten, e.created_at,
    e.finished_at, e.last_error
FROM recollect.erasures e
WHERE e.tenant_id = $1 AND e.kind <> 'thread'
    AND (e.created_at, e.erasure_id) < ($2, $3)
ORDER BY e.created_at DESC, e.erasure_id DESC
LIMIT $4
