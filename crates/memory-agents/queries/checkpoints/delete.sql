SELECT recollect.delete_checkpoints($1, $2, $3, $4, $5, $6, $7)
