SELECT status, older, message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at
FROM recollect.history($1, $2, $3, $4, $5, $6)
