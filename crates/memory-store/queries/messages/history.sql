SELECT status, older,
    message_id, external_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at,
    last_seq, message_count, update_count, head_id, path_messages, path_tokens
FROM recollect.history($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
