SELECT w.model, w.context_window
FROM recollect.working_memories w
WHERE w.tenant_id = $1 AND w.thread_id = $2
