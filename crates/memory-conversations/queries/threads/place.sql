-- An expired thread keeps its place until it is erased.
SELECT t.ordinal
FROM recollect.threads t
WHERE t.tenant_id = $1 AND t.thread_id = $2
