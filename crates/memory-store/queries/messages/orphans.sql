-- Of these messages, those whose parent was erased, each with the nearest
-- message before it that is left; null where none is.
WITH RECURSIVE path AS (
    SELECT m.message_id, m.branch, m.depth - 1 AS depth, 1 AS step
    FROM recollect.messages m
    JOIN recollect.messages p
        ON p.tenant_id = $1 AND p.message_id = m.parent_id AND p.deleted_at IS NOT NULL
    WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.message_id = ANY ($3)
    UNION ALL
    -- Where the branch has nothing left before the message, from where the branch
    -- left its own parent.
    SELECT o.message_id, b.parent_branch, LEAST(b.fork_depth, o.depth), o.step + 1
    FROM path o
    JOIN recollect.branches b
        ON b.tenant_id = $1 AND b.thread_id = $2 AND b.branch = o.branch
    WHERE b.parent_branch IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = $1 AND m.thread_id = $2
                AND m.branch = o.branch AND m.depth <= o.depth AND m.deleted_at IS NULL)
)
SELECT DISTINCT ON (o.message_id) o.message_id, nearest.message_id
FROM path o
LEFT JOIN LATERAL (
    SELECT m.message_id
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.thread_id = $2
        AND m.branch = o.branch AND m.depth <= o.depth AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT 1
) AS nearest ON true
ORDER BY o.message_id, o.step DESC
