SELECT status, more, summary_generation, observation_generation,
    message, imported
FROM recollect.read_range($1, $2, $3, $4, $5, $6, $7, $8)
