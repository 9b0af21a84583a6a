-- The messages of a thread to extract memories from once more, the oldest first.
SELECT m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
    m.parts, m.metadata, m.tokens, m.said_at
FROM recollect.extract_again e
JOIN recollect.messages m
    ON m.tenant_id = $1 AND m.message_id = e.message_id AND m.thread_id = e.thread_id AND m.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.thread_id = $2
ORDER BY m.seq
LIMIT $3
