SELECT status, first_number, event_count
FROM recollect.append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
