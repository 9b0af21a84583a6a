SELECT status, fault_index, fault_id, message_ids, first_seq, branches, tokens, revision, seqs
FROM recollect.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
