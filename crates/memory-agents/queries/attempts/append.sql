SELECT status, number, task_number, created_at
FROM recollect.append_attempt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
