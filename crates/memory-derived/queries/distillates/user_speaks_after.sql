SELECT EXISTS (
    SELECT
    FROM recollect.path($1, $2, $3, $4) AS part
    JOIN recollect.messages m
        ON m.tenant_id = $1 AND m.thread_id = $2 AND m.branch = part.branch
        AND m.depth > GREATEST(part.above, $5) AND m.depth <= part.depth AND m.deleted_at IS NULL
    WHERE m.role = 'user')
