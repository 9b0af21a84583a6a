-- Without effect where the thread does not exist.
SELECT recollect.enqueue_distill($1, t.thread_id)
FROM recollect.threads t
WHERE t.tenant_id = $1 AND t.thread_id = $2
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
