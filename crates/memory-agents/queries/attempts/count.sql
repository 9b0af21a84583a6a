-- The number of attempts at a task, or with null in the whole log: both are numbered without gaps.
SELECT COALESCE(CASE
    WHEN $3::text IS NULL THEN (
        SELECT max(i.number) FROM recollect.attempts i
        WHERE i.tenant_id = $1 AND i.thread_id = $2)
    ELSE (
        SELECT max(i.task_number)::bigint FROM recollect.attempts i
        WHERE i.tenant_id = $1 AND i.thread_id = $2 AND i.task = $3)
END, 0)
