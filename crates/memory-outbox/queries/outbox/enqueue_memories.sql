-- Queues the next $3 memories after ordinal $2, and records that. $4: for the collection with
-- this number alone, as long as it receives changes; null: for the serving one.
WITH queue AS MATERIALIZED (
    SELECT c.number AS target, set_config('recollect.one_collection', 'on', true) AS set
    FROM (SELECT COALESCE($4, recollect.serving_collection()) AS number) AS c
    WHERE $4::integer IS NULL OR EXISTS (
        SELECT FROM recollect.index_collections i WHERE i.number = $4 AND i.state IN ('serving', 'beside'))
),
page AS MATERIALIZED (
    SELECT m.memory_id, m.app_id, m.ordinal, recollect.memory_queue($1, m.app_id, m.user_id) AS queue
    FROM recollect.memories m
    WHERE m.tenant_id = $1 AND m.ordinal > $2
    ORDER BY m.ordinal
    LIMIT $3
),
queued AS (
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, kind, app_id, bulk, target)
    SELECT $1, page.queue, page.memory_id, 0, 'upsert', 'memory', page.app_id, true, queue.target
    FROM page
    CROSS JOIN queue
    -- Already queued and unclaimed. A claimed row does not count: it may be going to an
    -- index that is lost.
    WHERE NOT EXISTS (
        SELECT FROM recollect.outbox o
        WHERE o.tenant_id = $1 AND o.thread_id = page.queue AND o.message_id = page.memory_id
            AND o.kind = 'memory' AND o.op = 'upsert' AND o.target = queue.target AND o.dead_at IS NULL AND o.lease_id IS NULL)
    ORDER BY page.ordinal
    RETURNING 1
)
SELECT done.count AS queued_count, last.ordinal,
    CASE WHEN done.count > 0 THEN recollect.audit($1, 'reindex', NULL, '', done.count) END AS note
FROM (SELECT count(*) AS count FROM queued) AS done,
    (SELECT max(page.ordinal) AS ordinal FROM page) AS last
WHERE last.ordinal IS NOT NULL
