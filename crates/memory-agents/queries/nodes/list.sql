SELECT n.ordinal, n.node_id, n.object_key, n.message_count, n.waiting_count, n.size_bytes,
    n.updated_at, n.flushed_at, n.expires_at, n.last_error
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.ordinal > $3
    AND (n.expires_at IS NULL OR n.expires_at > clock_timestamp())
ORDER BY n.ordinal
LIMIT $4
