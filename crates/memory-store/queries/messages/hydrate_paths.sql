SELECT message_id, on_path
FROM recollect.hydrate_paths($1, $2, $3, $4, $5, $6, $7, $8)
