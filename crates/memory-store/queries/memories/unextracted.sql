-- Facts were extracted from the beginning of a path; this returns where the rest begins.
WITH thread AS MATERIALIZED (
    SELECT t.extract_generation, t.head_id, t.head_seq, t.head_branch, t.head_depth, t.path_tokens
    FROM recollect.threads t
    WHERE t.tenant_id = $1 AND t.thread_id = $2
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
)
SELECT thread.extract_generation, thread.head_id, thread.head_depth, thread.path_tokens,
    COALESCE(seen.depth, 0) AS after_depth,
    COALESCE(thread.path_tokens - seen.path_tokens, thread.path_tokens) AS tokens,
    -- Both times are the database's.
    GREATEST(COALESCE(EXTRACT(epoch FROM clock_timestamp() - (
        SELECT m.appended_at FROM recollect.messages m
        WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.seq = thread.head_seq)), 0), 0)::double precision AS quiet_seconds
FROM thread
LEFT JOIN LATERAL (
    SELECT last.depth, last.path_tokens
    FROM recollect.path($1, $2, thread.head_branch, thread.head_depth) AS part
    JOIN recollect.branches b
        ON b.tenant_id = $1 AND b.thread_id = $2 AND b.branch = part.branch AND b.extract_seq > 0
    CROSS JOIN LATERAL (
        SELECT m.depth, m.path_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.branch = part.branch
            AND m.depth > part.above AND m.depth <= part.depth
            AND m.deleted_at IS NULL AND m.seq <= b.extract_seq
        ORDER BY m.depth DESC
        LIMIT 1
    ) AS last
    ORDER BY last.depth DESC
    LIMIT 1
) AS seen ON true
