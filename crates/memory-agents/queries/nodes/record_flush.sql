SELECT recollect.record_node_flush($1, $2, $3, $4, $5, $6, $7)
