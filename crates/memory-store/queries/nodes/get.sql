SELECT n.ordinal, n.object_key, n.has_object, n.etag, n.last_message_id
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3
    -- What has expired is gone, also before it is swept.
    AND (n.expires_at IS NULL OR n.expires_at > clock_timestamp())
