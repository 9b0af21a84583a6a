SELECT status, deleted FROM recollect.delete_plan($1, $2, $3)
