SELECT status, revision FROM recollect.delete_message($1, $2, $3, $4)
