SELECT count(*)
FROM recollect.outbox o
WHERE o.tenant_id = $1
    AND o.kind = 'memory' AND o.op = 'upsert' AND o.dead_at IS NULL
    AND o.target = (SELECT recollect.serving_collection())
