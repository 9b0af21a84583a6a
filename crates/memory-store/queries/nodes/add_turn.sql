SELECT status, fault_id, user_id, assistant_id
FROM recollect.add_node_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
