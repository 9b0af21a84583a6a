-- Claims at most $1 changes for the lease $2 of $3 seconds: of each tenant equally many, as
-- far as it has any, the oldest first. Up to 64 tenants have a turn, in the order of their
-- names from the one after $5 on. $4: only changes of imports and rebuilds, or only others.
-- Only changes for the collection $6; null: for the serving one.
-- dead_order is null where dead_at is, but allows no plan over outbox_live, which could read
-- the changes of all tenants.
WITH RECURSIVE queue AS MATERIALIZED (
    SELECT recollect.collection_number($6) AS target
),
waiting AS (
    -- The first claimable change of the next tenant that has one: from $5 on, and from the
    -- first name to $5.
    SELECT s.again, o.tenant_id, 1 AS place
    FROM (VALUES (false, $5::text), (true, '')) AS s (again, after)
    CROSS JOIN LATERAL (
        SELECT o.tenant_id
        FROM recollect.outbox o
        WHERE o.target = (SELECT queue.target FROM queue) AND o.bulk = $4 AND o.dead_order IS NULL AND o.tenant_id > s.after AND o.available_at <= clock_timestamp()
        ORDER BY o.target, o.bulk, o.tenant_id, o.id
        LIMIT 1
    ) AS o
    WHERE NOT s.again OR o.tenant_id <= $5
    UNION ALL
    SELECT w.again, o.tenant_id, w.place + 1
    FROM waiting w
    CROSS JOIN LATERAL (
        SELECT o.tenant_id
        FROM recollect.outbox o
        WHERE o.target = (SELECT queue.target FROM queue) AND o.bulk = $4 AND o.dead_order IS NULL AND o.tenant_id > w.tenant_id AND o.available_at <= clock_timestamp()
        ORDER BY o.target, o.bulk, o.tenant_id, o.id
        LIMIT 1
    ) AS o
    WHERE w.place < LEAST($1::bigint, 64) AND (NOT w.again OR o.tenant_id <= $5)
),
turns AS MATERIALIZED (
    SELECT w.tenant_id, row_number() OVER (ORDER BY w.again, w.tenant_id) AS turn
    FROM waiting w
    ORDER BY w.again, w.tenant_id
    LIMIT LEAST($1, 64)
),
next AS MATERIALIZED (
    SELECT t.turn, o.tenant_id, o.thread_id, o.target, o.id
    FROM turns t
    CROSS JOIN LATERAL (
        SELECT o.tenant_id, o.thread_id, o.target, o.id
        FROM recollect.outbox o
        -- Not "after the last one seen": a lower id may be committed later.
        WHERE o.target = (SELECT queue.target FROM queue) AND o.bulk = $4 AND o.dead_order IS NULL AND o.tenant_id = t.tenant_id AND o.available_at <= clock_timestamp()
        ORDER BY o.id
        LIMIT ($1 + (SELECT count(*) FROM turns) - 1) / (SELECT count(*) FROM turns)
        FOR UPDATE SKIP LOCKED
    ) AS o
    LIMIT $1
)
UPDATE recollect.outbox o
SET lease_id = $2,
    available_at = clock_timestamp() + make_interval(secs => $3),
    -- Counted with the claim, so that an attempt that crashes its worker counts.
    attempts = o.attempts + 1
FROM next
WHERE o.tenant_id = next.tenant_id AND o.thread_id = next.thread_id AND o.target = next.target AND o.id = next.id
RETURNING o.id, o.tenant_id, o.thread_id, o.message_id, o.seq, o.op, o.attempts, o.created_at, o.kind, o.bulk,
    next.turn
