-- Ends at most $1 ephemeral threads up to the one with the ordinal $2, of all tenants; they are erased as expired ones. Their expiry
-- does not depend on the clock, which may be set back.
UPDATE recollect.threads t
SET expires_at = 'epoch'
FROM (
    SELECT e.tenant_id, e.thread_id
    FROM recollect.threads e
    WHERE e.idle_ttl IS NOT NULL AND e.expires_at > clock_timestamp() AND e.ordinal <= $2
    LIMIT $1
) due
WHERE t.tenant_id = due.tenant_id AND t.thread_id = due.thread_id
