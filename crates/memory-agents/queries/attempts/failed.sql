-- The newest failed attempts, within limits of rows and bytes, and the number of all failed ones.
SELECT page.number, page.task, page.task_number, page.action, page.result, page.error, page.diagnosis, page.fix,
    page.created_at, page.found_count
FROM (
    SELECT found.*, sum(found.bytes) OVER (ORDER BY found.number DESC) AS running_bytes,
        (SELECT count(*) FROM recollect.attempts i
         WHERE i.tenant_id = $1 AND i.thread_id = $2 AND i.error <> ''
             AND ($3::text IS NULL OR i.task = $3)) AS found_count
    FROM (
        SELECT i.number, i.task, i.task_number, i.action, i.result, i.error, i.diagnosis, i.fix, i.created_at, i.bytes
        FROM recollect.attempts i
        WHERE i.tenant_id = $1 AND i.thread_id = $2 AND i.error <> ''
            -- Null: no filter.
            AND ($3::text IS NULL OR i.task = $3)
        ORDER BY i.number DESC
        LIMIT $4
    ) AS found
) AS page
WHERE page.running_bytes <= $5
ORDER BY page.number DESC
