SELECT status, message_count, revision FROM recollect.delete_thread($1, $2, $3, $4)
