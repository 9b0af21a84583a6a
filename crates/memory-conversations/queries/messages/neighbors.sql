SELECT anchor_id, distance, ordinal, message
FROM recollect.neighbors($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
