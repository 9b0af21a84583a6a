SELECT status, generation, head_id, branches, depths, distillates, raw_summary, raw_observations,
    path_tokens, distil_at, extract_seq, last_seq, last_error, summarized_count, set_aside_count
FROM recollect.distil_state($1, $2, $3, $4)
