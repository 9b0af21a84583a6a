SELECT message_id, depth, role, name, digest, said_at FROM recollect.working_tail($1, $2, $3)
