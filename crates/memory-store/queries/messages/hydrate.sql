WITH named AS MATERIALIZED (
    -- The head to use for the thread $6; null: each thread's own.
    SELECT recollect.named_message($1, $6, $7) AS message_id
),
hits AS MATERIALIZED (
    SELECT m.thread_id, t.ordinal,
        COALESCE(head.branch, t.head_branch) AS head_branch,
        COALESCE(head.depth, t.head_depth) AS head_depth,
        m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
        m.parts, m.metadata, m.tokens, m.said_at
    FROM recollect.messages m
    JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
    LEFT JOIN recollect.messages head
        ON head.tenant_id = $1 AND head.message_id = (SELECT named.message_id FROM named)
        AND head.thread_id = m.thread_id
    WHERE m.tenant_id = $1 AND m.message_id = ANY ($2)
        AND m.deleted_at IS NULL
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
        -- The scope; null: any.
        AND ($3::text IS NULL OR t.app_id = $3)
        AND ($4::text IS NULL OR t.user_id = $4)
        AND ($5::uuid IS NULL OR t.thread_id = $5)
        AND ($8::text IS NULL OR recollect.is_in_space($1, t.app_id, $8))
),
-- The path of each thread's head, as far back as the hits.
path AS MATERIALIZED (
    SELECT head.thread_id, part.branch, part.depth
    FROM (
        SELECT h.thread_id, h.head_branch, h.head_depth, min(h.branch) AS lowest
        FROM hits h
        GROUP BY h.thread_id, h.head_branch, h.head_depth
    ) AS head
    CROSS JOIN LATERAL recollect.path_back_to(
        $1, head.thread_id, head.head_branch, head.head_depth, head.lowest) AS part
)
SELECT m.thread_id, m.ordinal,
    EXISTS (SELECT FROM path p WHERE p.thread_id = m.thread_id AND p.branch = m.branch AND m.depth <= p.depth) AS on_path,
    m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
    CASE WHEN $9::boolean THEN m.parts ELSE '[]' END AS parts, m.metadata, m.tokens, m.said_at
FROM hits m
