-- A page is limited by rows and by bytes; the running sum is over one page at most.
SELECT page.number, page.task, page.task_number, page.action, page.result, page.error, page.diagnosis, page.fix,
    page.created_at, page.found_count
FROM (
    SELECT found.*, sum(found.bytes) OVER (ORDER BY found.number ASC) AS running_bytes,
        count(*) OVER () AS found_count
    FROM (
        SELECT i.number, i.task, i.task_number, i.action, i.result, i.error, i.diagnosis, i.fix, i.created_at, i.bytes
        FROM recollect.attempts i
        WHERE i.tenant_id = $1 AND i.thread_id = $2 AND i.number > $3
            -- Null: no filter.
            AND ($4::text IS NULL OR i.task = $4)
            AND (NOT $5::boolean OR i.error <> '')
        ORDER BY i.number ASC
        LIMIT $6
    ) AS found
) AS page
-- The first entry is returned even if it is too large.
WHERE page.running_bytes <= $7 OR page.running_bytes = page.bytes
ORDER BY page.number ASC
