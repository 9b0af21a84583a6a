SELECT status, copied_count FROM recollect.copy_checkpoints($1, $2, $3, $4, $5)
