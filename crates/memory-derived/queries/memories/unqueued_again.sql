SELECT DISTINCT e.tenant_id, e.thread_id
FROM recollect.extract_again e
WHERE NOT e.queued
LIMIT $1
