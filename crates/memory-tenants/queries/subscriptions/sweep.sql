SELECT dropped_count, is_more FROM recollect.sweep_events($1, $2, $3, $4, $5)
