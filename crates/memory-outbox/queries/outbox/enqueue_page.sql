-- Queues the next $5 messages after thread $2 and seq $3, up to thread $4, and records
-- that, for thread $6 unless null. $7: for the collection with this number alone, as long as
-- it receives changes; null: for the serving one.
WITH queue AS MATERIALIZED (
    SELECT c.number AS target, set_config('recollect.one_collection', 'on', true) AS set
    FROM (SELECT COALESCE($7, recollect.serving_collection()) AS number) AS c
    WHERE $7::integer IS NULL OR EXISTS (
        SELECT FROM recollect.index_collections i WHERE i.number = $7 AND i.state IN ('serving', 'beside'))
),
page AS MATERIALIZED (
    SELECT m.thread_id, m.seq, m.message_id, m.deleted_at
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND (m.thread_id, m.seq) > ($2, $3) AND m.thread_id <= $4
    ORDER BY m.thread_id, m.seq
    LIMIT $5
),
queued AS (
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, app_id, user_queue, bulk, target)
    SELECT $1, page.thread_id, page.message_id, page.seq, 'upsert', t.app_id,
        recollect.memory_queue($1, t.app_id, t.user_id), true, queue.target
    FROM page
    CROSS JOIN queue
    JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = page.thread_id
    WHERE page.deleted_at IS NULL
        -- Already queued and unclaimed. A claimed row does not count: it may be
        -- going to an index that is lost.
        AND NOT EXISTS (
            SELECT FROM recollect.outbox o
            WHERE o.tenant_id = $1 AND o.thread_id = page.thread_id AND o.message_id = page.message_id
                AND o.op = 'upsert' AND o.target = queue.target AND o.dead_at IS NULL AND o.lease_id IS NULL)
    ORDER BY page.thread_id, page.seq
    RETURNING 1
)
SELECT done.count AS queued_count, last.thread_id, last.seq,
    CASE WHEN done.count > 0 THEN recollect.audit($1, 'reindex', $6, '', done.count) END AS note
FROM (SELECT count(*) AS count FROM queued) AS done,
    (SELECT page.thread_id, page.seq FROM page ORDER BY page.thread_id DESC, page.seq DESC LIMIT 1) AS last
