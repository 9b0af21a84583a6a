UPDATE recollect.threads
SET extract_seq = GREATEST(extract_seq, $3)
WHERE tenant_id = $1 AND thread_id = $2
