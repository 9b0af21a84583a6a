SELECT status, number, generation
FROM recollect.commit_reflection($1, $2, $3, $4, $5, $6, $7, $8, $9)
