SELECT recollect.sweep_working_memory($1, $2, $3)
