DELETE FROM recollect.extract_again
WHERE tenant_id = $1 AND thread_id = $2 AND message_id = ANY ($3)
