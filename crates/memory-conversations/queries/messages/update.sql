SELECT status, message, revision FROM recollect.update_message($1, $2, $3, $4, $5, $6)
