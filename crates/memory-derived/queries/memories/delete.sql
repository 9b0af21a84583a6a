SELECT deleted, queue, revision FROM recollect.delete_memory($1, $2, $3)
