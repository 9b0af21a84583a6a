SELECT status, summary_generation, observation_generation, head_id, branches, depths, distillates, raw_summary, raw_observations,
    path_tokens, distill_at, last_seq, last_error, summarized_count, set_aside_count,
    EXISTS (
        SELECT FROM recollect.working_memories w
        WHERE w.tenant_id = $1 AND w.thread_id = $2 AND w.expires_at <= clock_timestamp()) AS expired
FROM recollect.distill_state($1, $2, $3, $4)
