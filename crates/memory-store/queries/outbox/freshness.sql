SELECT EXISTS (
        SELECT FROM recollect.outbox o
        WHERE o.tenant_id = $1 AND o.thread_id = $2 AND o.id <= $3 AND o.dead_at IS NULL) AS pending,
    (SELECT count(*) FROM recollect.outbox o
     WHERE o.tenant_id = $1 AND o.thread_id = $2 AND o.id <= $3 AND o.dead_at IS NOT NULL) AS dead_letters
