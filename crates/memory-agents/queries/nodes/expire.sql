SELECT recollect.expire_node_memory($1, $2, $3, $4)
