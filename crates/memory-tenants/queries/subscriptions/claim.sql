-- Leases at most $1 subscriptions with events for webhooks, where $1 is the number of places that are
-- free. One more place of a tenant must be at most a quarter of those that are then free, so that
-- some stay free for other tenants (dynamic thresholds: Choudhury and Hahne, 1998). Tenants with fewer
-- places come first, then the subscriptions that have waited longest.
WITH waiting AS MATERIALIZED (
    SELECT s.tenant_id, s.name, GREATEST(s.available_at, s.retry_at) AS since
    FROM recollect.subscriptions s
    WHERE s.pushes AND s.enabled AND GREATEST(s.available_at, s.retry_at) <= clock_timestamp()
        -- With a limit, so that Postgres looks up one event of each instead of reading all of them.
        AND (SELECT true FROM recollect.subscription_events e
             WHERE e.tenant_id = s.tenant_id AND e.subscription = s.number LIMIT 1)
),
placed AS (
    SELECT w.tenant_id, w.name, w.since,
        row_number() OVER (PARTITION BY w.tenant_id ORDER BY w.since, w.name) + held.count AS place
    FROM waiting w
    CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM recollect.subscriptions h
        WHERE h.tenant_id = w.tenant_id AND h.pushes AND h.lease_id IS NOT NULL
            AND h.available_at > clock_timestamp()) AS held
),
next AS MATERIALIZED (
    SELECT p.tenant_id, p.name, p.place, row_number() OVER (ORDER BY p.place, p.since) AS turn
    FROM placed p
    ORDER BY turn
    LIMIT $1
),
due AS (
    SELECT s.tenant_id, s.name
    FROM next n
    JOIN recollect.subscriptions s ON s.tenant_id = n.tenant_id AND s.name = n.name
    -- A quarter, rounded up.
    WHERE n.place <= ($1 - n.turn + 4) / 4
        -- Another worker may have claimed it since.
        AND s.enabled AND GREATEST(s.available_at, s.retry_at) <= clock_timestamp()
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE recollect.subscriptions s
SET lease_id = $2, available_at = clock_timestamp() + make_interval(secs => $3)
FROM due
WHERE s.tenant_id = due.tenant_id AND s.name = due.name
RETURNING s.tenant_id, s.name
