-- The names that are readable messages of the thread, with their id and depth, and whether
-- they are on the path to its head.
SELECT n.name, m.message_id, m.depth, EXISTS (
        SELECT FROM recollect.path($1, $2, t.head_branch, t.head_depth) part
        WHERE part.branch = m.branch AND m.depth > part.above AND m.depth <= part.depth) AS on_path
FROM recollect.threads t
CROSS JOIN unnest($3::text[]) AS n (name)
CROSS JOIN LATERAL (
    SELECT f.message_id, f.branch, f.depth
    FROM recollect.messages f
    WHERE f.tenant_id = $1 AND f.message_id = recollect.named_message($1, $2, n.name)
    LIMIT 1
) AS m
WHERE t.tenant_id = $1 AND t.thread_id = $2
