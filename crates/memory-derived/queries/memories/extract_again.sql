-- The messages of a thread to extract memories from once more, the oldest first.
SELECT recollect.readable(m) AS message
FROM recollect.extract_again e
JOIN recollect.messages m
    ON m.tenant_id = $1 AND m.message_id = e.message_id AND m.thread_id = e.thread_id AND m.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.thread_id = $2
ORDER BY m.seq
LIMIT $3
