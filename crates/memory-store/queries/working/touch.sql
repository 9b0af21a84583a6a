SELECT status, rebuilt FROM recollect.touch_working_memory($1, $2, $3, $4, $5)
