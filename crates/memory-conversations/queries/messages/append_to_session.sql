SELECT status, fault_index, fault_id, message_ids, first_seq, branches, tokens, revision, seqs,
    thread_id, created
FROM recollect.append_to_session(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
