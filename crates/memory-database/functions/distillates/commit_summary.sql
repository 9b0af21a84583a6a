-- Stores a summary. It follows the summary that holds on the path to its end, and is
-- based on that.
CREATE OR REPLACE FUNCTION recollect.commit_summary(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_branch integer, p_after integer, p_to integer, p_text text, p_tokens integer, p_made_by text,
    p_based_on bigint, p_own_text boolean, p_sets_aside boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_tip record;
    v_size record;
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'summary', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    SELECT d.number, d.to_depth INTO v_tip
    FROM recollect.path_arrays(p_tenant, p_thread, p_branch, p_to) p
    CROSS JOIN LATERAL recollect.summary_on_path(p_tenant, p_thread, p.branches, p.depths) d;
    IF v_tip.number IS DISTINCT FROM p_based_on OR COALESCE(v_tip.to_depth, 0) <> p_after OR p_after > p_to
        OR (p_branch = 0) <> (p_to = 0)
        OR (p_text = '' AND p_after < p_to AND NOT p_sets_aside)
        OR (p_to > 0 AND NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth = p_to AND m.deleted_at IS NULL))
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    SELECT s.* INTO v_size FROM recollect.measure_range(p_tenant, p_thread, p_branch, p_after, p_to) s;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary');
    generation := p_generation + 1;
    UPDATE recollect.threads t
    SET last_summary = t.last_summary + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_summary INTO number;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by,
         based_on, own_text, sets_aside, message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'summary', number, p_branch, p_after, p_to, p_text, p_tokens, p_made_by,
         p_based_on, p_own_text, p_sets_aside, v_size.message_count, v_size.message_tokens,
         v_size.first_id, v_size.last_id);
    PERFORM recollect.audit(p_tenant, 'summarize', p_thread, number::text, v_size.message_count);
END;
$$;
