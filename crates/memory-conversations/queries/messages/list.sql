SELECT l.scanned, l.last_time, l.last_id, l.found_count, l.message
FROM recollect.list_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS l
