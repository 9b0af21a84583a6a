SELECT status, more, summary_generation, observation_generation,
    message_id, external_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at,
    imported
FROM recollect.read_range($1, $2, $3, $4, $5, $6, $7, $8)
