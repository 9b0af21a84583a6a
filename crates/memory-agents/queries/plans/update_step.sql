SELECT h.status,
    (h.plan).goal, (h.plan).current_phase, (h.plan).iteration_count, (h.plan).steps, (h.plan).data,
    (h.plan).version, (h.plan).created_at, (h.plan).updated_at
FROM recollect.update_plan_step($1, $2, $3, $4, $5, $6, $7, $8, $9) h
