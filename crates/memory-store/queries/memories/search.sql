SELECT found.memory_id, found.score
FROM recollect.match_memory_words($1, $2, $4, $5, $6, $7, $8, $9, $10, $3, $11) AS found
