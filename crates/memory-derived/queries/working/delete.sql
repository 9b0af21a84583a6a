SELECT status, deleted FROM recollect.delete_working_memory($1, $2, $3)
