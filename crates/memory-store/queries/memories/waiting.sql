SELECT count(*)
FROM recollect.outbox o
-- What is to be learnt of memories has no thread.
WHERE o.tenant_id = $1 AND o.thread_id = '00000000-0000-0000-0000-000000000000'
    AND o.kind = 'memory' AND o.op = 'upsert' AND o.dead_at IS NULL
