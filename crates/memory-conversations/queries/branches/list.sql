SELECT b.branch, newest.message_id AS head_id, b.fork_id, COALESCE(counted.messages, 0) AS message_count,
    COALESCE(newest.depth, b.fork_depth) AS depth, t.head_branch = b.branch AS active, b.created_at
FROM recollect.threads t
JOIN recollect.branches b ON b.tenant_id = $1 AND b.thread_id = t.thread_id
LEFT JOIN LATERAL (
    SELECT m.message_id, m.depth
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.thread_id = b.thread_id AND m.branch = b.branch AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT 1
) AS newest ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS messages
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.thread_id = b.thread_id AND m.branch = b.branch AND m.deleted_at IS NULL
) AS counted ON true
WHERE t.tenant_id = $1 AND t.thread_id = $2
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    AND b.branch > $3
ORDER BY b.branch
LIMIT $4
