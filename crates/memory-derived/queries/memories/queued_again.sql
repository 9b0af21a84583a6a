UPDATE recollect.extract_again
SET queued = true
WHERE tenant_id = $1 AND thread_id = $2 AND NOT queued
