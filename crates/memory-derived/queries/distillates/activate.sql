SELECT status, number, generation
FROM recollect.activate_observations($1, $2, $3, $4, $5)
