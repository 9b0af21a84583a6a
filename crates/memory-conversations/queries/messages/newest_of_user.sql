-- The newest message of the user on the path to the message $3; null: to the thread's head.
SELECT m.message
FROM recollect.threads t
LEFT JOIN recollect.messages head
    ON head.tenant_id = $1 AND head.message_id = recollect.named_message($1, $2, $3) AND head.thread_id = t.thread_id
CROSS JOIN LATERAL recollect.path(
    $1, $2, COALESCE(head.branch, t.head_branch), COALESCE(head.depth, t.head_depth)) AS part
CROSS JOIN LATERAL (
    SELECT recollect.readable(m) AS message, m.depth
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.branch = part.branch
        AND m.depth > part.above AND m.depth <= part.depth AND m.deleted_at IS NULL AND m.role = 'user'
    ORDER BY m.depth DESC
    LIMIT 1
) AS m
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
ORDER BY m.depth DESC
LIMIT 1
