SELECT status, message_count FROM recollect.clear_node_memory($1, $2, $3, $4)
