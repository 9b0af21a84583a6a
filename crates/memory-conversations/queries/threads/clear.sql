SELECT status, message_count, revision FROM recollect.clear_thread($1, $2, $3, $4)
