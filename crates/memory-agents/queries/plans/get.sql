SELECT p.goal, p.current_phase, p.iteration_count, p.steps, p.data, p.version, p.created_at, p.updated_at
FROM recollect.plans p
WHERE p.tenant_id = $1 AND p.thread_id = $2
