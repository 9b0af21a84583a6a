SELECT tenant_id, thread_id, wanted, attempts, created_at
FROM recollect.claim_distill_jobs($1, $2, $3, $4)
