SELECT id, tenant_id, thread_id, message_id, seq, op, attempts, created_at, kind, bulk
FROM recollect.claim_changes($1, $2, $3, $4, $5)
