-- Forgets receipts older than $1 seconds, and then their threads.
DELETE FROM recollect.erasures e
WHERE (e.tenant_id, e.erasure_id) IN (
    SELECT old.tenant_id, old.erasure_id
    FROM recollect.erasures old
    WHERE old.finished_at < clock_timestamp() - make_interval(secs => $1)
        AND NOT EXISTS (
            SELECT FROM recollect.erasures p
            WHERE p.tenant_id = old.tenant_id AND p.erasure_id = old.parent_id)
    LIMIT $2
)
