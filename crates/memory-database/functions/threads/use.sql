-- Counts as a use of an ephemeral thread: it lives for its idle_ttl from now on. Returns
-- its new expiry; null where that did not change: the thread is not ephemeral, or the
-- expiry was moved less than a minute, or a tenth of a shorter idle_ttl, ago. It does not
-- wait for a lock: its holder uses the thread, too.
CREATE OR REPLACE FUNCTION recollect.use_thread(p_tenant text, p_thread uuid)
RETURNS timestamptz
LANGUAGE sql AS $$
    UPDATE recollect.threads t
    SET expires_at = LEAST(t.lifetime_end, clock_timestamp() + t.idle_ttl)
    FROM (
        SELECT u.tenant_id, u.thread_id
        FROM recollect.threads u
        WHERE u.tenant_id = p_tenant AND u.thread_id = p_thread
            AND u.idle_ttl IS NOT NULL AND u.expires_at > clock_timestamp()
            AND u.expires_at < LEAST(u.lifetime_end, clock_timestamp() + u.idle_ttl - LEAST(u.idle_ttl / 10, interval '1 minute'))
        FOR NO KEY UPDATE SKIP LOCKED
    ) due
    WHERE t.tenant_id = due.tenant_id AND t.thread_id = due.thread_id
    RETURNING t.expires_at
$$;
