SELECT status, node_message_id FROM recollect.nearest_node_message($1, $2, $3, $4)
