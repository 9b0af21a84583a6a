SELECT n.tenant_id, n.thread_id, n.node_id
FROM recollect.node_memories n
WHERE n.waiting_since <= clock_timestamp() - make_interval(secs => $1)
    -- An expired memory is not flushed, because it is about to be erased.
    AND (n.expires_at IS NULL OR n.expires_at > clock_timestamp())
    AND (n.retry_at IS NULL OR n.retry_at <= clock_timestamp())
ORDER BY n.waiting_since
LIMIT $2
