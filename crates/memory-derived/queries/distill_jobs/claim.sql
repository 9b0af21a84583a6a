-- Claims at most $1 threads for the lease $2 of $3 seconds: one of each tenant in turn, the
-- longest due first, in the order of the tenants' names from the one after $4 on. Threads
-- that only an import queued come after all others.
WITH RECURSIVE looks AS (
    -- The first thread of the next tenants, which may not be due: from $4 on, and from the
    -- first name to $4.
    SELECT s.bulk, s.again, j.tenant_id, j.due, 1 AS place
    FROM (VALUES (false, false, $4::text), (false, true, ''), (true, false, $4), (true, true, ''))
        AS s (bulk, again, after)
    CROSS JOIN LATERAL (
        SELECT j.tenant_id, j.available_at <= now() AS due
        FROM recollect.distill_jobs j
        WHERE j.bulk = s.bulk AND j.tenant_id > s.after
        ORDER BY j.bulk, j.tenant_id, j.available_at
        LIMIT 1
    ) AS j
    WHERE (NOT s.again OR j.tenant_id <= $4)
        AND EXISTS (SELECT FROM recollect.distill_jobs d WHERE d.available_at <= now())
    UNION ALL
    SELECT l.bulk, l.again, j.tenant_id, j.due, l.place + 1
    FROM looks l
    CROSS JOIN LATERAL (
        SELECT j.tenant_id, j.available_at <= now() AS due
        FROM recollect.distill_jobs j
        WHERE j.bulk = l.bulk AND j.tenant_id > l.tenant_id
        ORDER BY j.bulk, j.tenant_id, j.available_at
        LIMIT 1
    ) AS j
    WHERE l.place < 100 AND (NOT l.again OR j.tenant_id <= $4)
),
candidates AS (
    SELECT t.bulk::integer AS late, due.place, t.turn, t.tenant_id, due.thread_id
    FROM (
        SELECT l.bulk, l.tenant_id, row_number() OVER (PARTITION BY l.bulk ORDER BY l.again, l.tenant_id) AS turn
        FROM looks l
        WHERE l.due
    ) AS t
    CROSS JOIN LATERAL (
        SELECT first.thread_id, row_number() OVER (ORDER BY first.available_at) AS place
        FROM (
            SELECT j.thread_id, j.available_at
            FROM recollect.distill_jobs j
            WHERE j.bulk = t.bulk AND j.tenant_id = t.tenant_id AND j.available_at <= now()
            ORDER BY j.available_at
            LIMIT LEAST($1::bigint, 16)
        ) AS first
    ) AS due
    -- Others may claim the first ones at the same time.
    WHERE t.turn <= 4 * $1
    UNION ALL
    -- Threads of tenants beyond the first ones, when too many of these have no thread that is due.
    SELECT 2, row_number() OVER (ORDER BY oldest.available_at), 0, oldest.tenant_id, oldest.thread_id
    FROM (
        SELECT j.tenant_id, j.thread_id, j.available_at
        FROM recollect.distill_jobs j
        WHERE j.available_at <= now()
        ORDER BY j.available_at
        LIMIT $1
    ) AS oldest
),
next AS MATERIALIZED (
    SELECT j.tenant_id, j.thread_id, c.turn
    FROM (
        SELECT DISTINCT ON (c.tenant_id, c.thread_id) c.*
        FROM candidates c
        ORDER BY c.tenant_id, c.thread_id, c.late
    ) AS c
    JOIN recollect.distill_jobs j
        ON j.tenant_id = c.tenant_id AND j.thread_id = c.thread_id AND j.available_at <= now()
    ORDER BY c.late, c.place, c.turn
    LIMIT $1
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE recollect.distill_jobs j
SET lease_id = $2,
    available_at = clock_timestamp() + make_interval(secs => $3),
    -- Counted with the claim, so that an attempt that crashes its worker counts.
    attempts = j.attempts + 1
FROM next
WHERE j.tenant_id = next.tenant_id AND j.thread_id = next.thread_id
RETURNING j.tenant_id, j.thread_id, j.wanted, j.attempts, j.created_at, next.turn
