SELECT found.memory_id, found.score
FROM recollect.match_memories($1, $2, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $4, $3) AS found
