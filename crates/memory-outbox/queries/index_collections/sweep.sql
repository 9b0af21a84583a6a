-- Deletes up to $1 live and $1 dead changes for collections that receive none any more.
WITH RECURSIVE targets AS (
    SELECT (SELECT min(o.target) FROM recollect.outbox o WHERE o.dead_order IS NULL) AS target
    UNION ALL
    SELECT (SELECT min(o.target) FROM recollect.outbox o WHERE o.dead_order IS NULL AND o.target > t.target)
    FROM targets t
    WHERE t.target IS NOT NULL
),
receiving AS MATERIALIZED (
    SELECT c.number FROM recollect.index_collections c WHERE c.state IN ('serving', 'beside')
),
live AS MATERIALIZED (
    SELECT o.ctid
    FROM (SELECT t.target FROM targets t WHERE t.target NOT IN (SELECT r.number FROM receiving r)) AS t
    CROSS JOIN LATERAL (
        SELECT x.ctid FROM recollect.outbox x
        WHERE x.dead_order IS NULL AND x.target = t.target
        LIMIT $1
        FOR UPDATE SKIP LOCKED
    ) AS o
    LIMIT $1
),
dead AS MATERIALIZED (
    SELECT o.ctid FROM recollect.outbox o
    WHERE o.dead_at IS NOT NULL AND o.target NOT IN (SELECT r.number FROM receiving r)
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM recollect.outbox o
WHERE o.ctid = ANY (ARRAY(SELECT live.ctid FROM live UNION ALL SELECT dead.ctid FROM dead))
    AND EXISTS (SELECT FROM receiving)
