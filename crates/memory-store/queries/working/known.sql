-- The ids that are readable messages of the thread, with their depth, and whether they are
-- on the path to its head.
SELECT m.message_id, m.depth, EXISTS (
        SELECT FROM recollect.path($1, $2, t.head_branch, t.head_depth) part
        WHERE part.branch = m.branch AND m.depth > part.above AND m.depth <= part.depth) AS on_path
FROM recollect.threads t
JOIN recollect.messages m
    ON m.tenant_id = t.tenant_id AND m.thread_id = t.thread_id AND m.deleted_at IS NULL
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND m.tenant_id = $1 AND m.message_id = ANY ($3)
