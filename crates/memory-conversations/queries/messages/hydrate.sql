SELECT message_id, on_path, ordinal, message
FROM recollect.hydrate($1, $2, $3, $4, $5, $6, $7, $8, $9)
