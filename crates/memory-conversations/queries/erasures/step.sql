SELECT status FROM recollect.erase_step($1, $2, $3, $4, $5)
