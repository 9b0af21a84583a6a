SELECT status, older, message,
    last_seq, message_count, update_count, head_id, path_messages, path_tokens
FROM recollect.history($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
