SELECT created_count, too_large, needs_erase
FROM recollect.put_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
