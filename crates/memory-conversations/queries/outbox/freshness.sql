-- Whether changes of the thread up to $3 wait for the collection $4; null: for the serving one.
-- One that receives no changes never gets them.
WITH queue AS MATERIALIZED (
    SELECT recollect.collection_number($4) AS target
)
SELECT queue.target IS NULL OR EXISTS (
        SELECT FROM recollect.outbox o
        WHERE o.tenant_id = $1 AND o.thread_id = $2 AND o.target = queue.target AND o.id <= $3 AND o.dead_at IS NULL)
        AS pending,
    (SELECT count(*) FROM recollect.outbox o
     WHERE o.tenant_id = $1 AND o.thread_id = $2 AND o.target = queue.target AND o.id <= $3 AND o.dead_at IS NOT NULL)
        AS dead_letters
FROM queue
