WITH requeued AS (
    UPDATE recollect.outbox o
    SET bulk = true, dead_at = NULL, dead_order = NULL, lease_id = NULL, attempts = 0, available_at = clock_timestamp()
    WHERE o.tenant_id = $1 AND o.dead_at IS NOT NULL
        AND ($2::uuid IS NULL OR o.thread_id = $2)
    RETURNING 1
)
SELECT done.count AS requeued_count,
    CASE WHEN done.count > 0 THEN recollect.audit($1, 'reindex', $2, '', done.count) END AS note
FROM (SELECT count(*) AS count FROM requeued) AS done
