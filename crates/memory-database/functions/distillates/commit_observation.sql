-- Stores an observation of a range that no other observation overlaps on the path to its
-- end. Until it is activated, the messages themselves are in the context.
CREATE OR REPLACE FUNCTION recollect.commit_observation(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_branch integer, p_after integer, p_to integer, p_text text, p_tokens integer, p_made_by text, p_active boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_size record;
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    IF p_text = '' OR p_after < 0 OR p_after >= p_to
        OR NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth = p_to AND m.deleted_at IS NULL)
        OR EXISTS (
            SELECT FROM recollect.path_arrays(p_tenant, p_thread, p_branch, p_to) p
            JOIN recollect.distillates d
                ON d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                AND d.reflects IS NULL AND d.to_depth > p_after AND d.after_depth < p_to
                AND recollect.is_on_path(p.branches, p.depths, d.branch, d.to_depth))
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    SELECT s.* INTO v_size FROM recollect.measure_range(p_tenant, p_thread, p_branch, p_after, p_to) s;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'observation');
    generation := p_generation + 1;
    UPDATE recollect.threads t
    SET last_observation = t.last_observation + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_observation INTO number;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by, active,
         message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'observation', number, p_branch, p_after, p_to, p_text, p_tokens, p_made_by, p_active,
         v_size.message_count, v_size.message_tokens, v_size.first_id, v_size.last_id);
    PERFORM recollect.audit(p_tenant, 'observe', p_thread, number::text, v_size.message_count);
END;
$$;
