SELECT status, message_count FROM recollect.delete_node_memory($1, $2, $3, $4)
