-- Memories were extracted from the beginning of a path; this returns where the rest begins.
-- Summaries ($3) cover ranges; all other memories of a message are extracted together.
WITH thread AS MATERIALIZED (
    SELECT t.extract_generation, t.head_id, t.head_seq, t.head_branch, t.head_depth, t.path_tokens
    FROM recollect.threads t
    WHERE t.tenant_id = $1 AND t.thread_id = $2
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
)
SELECT thread.extract_generation, thread.head_id, thread.head_depth, thread.path_tokens,
    seen.depth AS after_depth,
    thread.path_tokens
        - recollect.path_tokens_at($1, $2, path.branches, path.above, path.depths, seen.depth) AS tokens,
    -- Both times are the database's.
    GREATEST(COALESCE(EXTRACT(epoch FROM clock_timestamp() - (
        SELECT m.appended_at FROM recollect.messages m
        WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.seq = thread.head_seq)), 0), 0)::double precision AS quiet_seconds,
    -- Whether a caller asked for the next message.
    COALESCE(job.extract_to >= (
        SELECT recollect.seq_at($1, $2, part.branch, seen.depth + 1)
        FROM unnest(path.branches, path.above, path.depths) AS part (branch, above, depth)
        WHERE part.above <= seen.depth AND part.depth > seen.depth), false) AS asked,
    COALESCE(job.last_error, '') AS last_error
FROM thread
LEFT JOIN recollect.distill_jobs job ON job.tenant_id = $1 AND job.thread_id = $2
CROSS JOIN LATERAL recollect.path_arrays($1, $2, thread.head_branch, thread.head_depth) AS path
CROSS JOIN LATERAL (
    SELECT COALESCE(CASE
        WHEN $3 THEN (recollect.memory_range_on_path($1, $2, path.branches, path.depths)).to_depth
        ELSE (recollect.extracted_place($1, $2, thread.head_branch, thread.head_depth)).depth END, 0) AS depth
) AS seen
