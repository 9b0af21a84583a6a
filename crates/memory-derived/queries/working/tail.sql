SELECT message_id, depth, role, name, said_by, digest, said_at FROM recollect.working_tail($1, $2, $3)
