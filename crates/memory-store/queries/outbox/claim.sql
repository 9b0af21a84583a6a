WITH next AS MATERIALIZED (
    SELECT o.tenant_id, o.thread_id, o.id
    FROM recollect.outbox o
    -- Not "after the last one seen": a lower id may be committed later.
    WHERE o.dead_at IS NULL AND o.available_at <= clock_timestamp()
    ORDER BY o.id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE recollect.outbox o
SET lease_id = $2,
    available_at = clock_timestamp() + make_interval(secs => $3),
    -- Counted with the claim, so that an attempt that crashes its worker counts.
    attempts = o.attempts + 1
FROM next
WHERE o.tenant_id = next.tenant_id AND o.thread_id = next.thread_id AND o.id = next.id
RETURNING o.id, o.tenant_id, o.thread_id, o.message_id, o.seq, o.op, o.attempts, o.created_at, o.kind
