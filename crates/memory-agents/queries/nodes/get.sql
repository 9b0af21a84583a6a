SELECT n.ordinal, n.object_key, n.has_object, n.etag
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3
    -- An expired memory counts as not found, also before it is erased.
    AND (n.expires_at IS NULL OR n.expires_at > clock_timestamp())
