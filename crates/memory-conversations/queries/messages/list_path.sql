SELECT status, more, branch, depth, last_seq, message
FROM recollect.list_path($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
