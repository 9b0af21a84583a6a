-- Stores a reflection on observations that are active and that no other reflection
-- condenses on their path.
CREATE OR REPLACE FUNCTION recollect.commit_reflection(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_reflects bigint[], p_text text, p_tokens integer, p_made_by text, p_active boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last record;
    v_size record;
    v_all bigint[];
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    v_all := ARRAY(
        SELECT DISTINCT u.number FROM (
            SELECT unnest(p_reflects) AS number
            UNION ALL
            SELECT unnest(d.reflects)
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                AND d.number = ANY (p_reflects)
        ) AS u
        ORDER BY u.number);
    SELECT d.branch, d.to_depth, d.last_id INTO v_last
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_all)
        AND d.reflects IS NULL
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    SELECT count(*) AS found,
        bool_and(d.active AND recollect.is_on_path(p.branches, p.depths, d.branch, d.to_depth)) AS placed,
        sum(d.message_count) FILTER (WHERE d.reflects IS NULL) AS message_count,
        sum(d.message_tokens) FILTER (WHERE d.reflects IS NULL) AS message_tokens,
        (array_agg(d.first_id ORDER BY d.to_depth) FILTER (WHERE d.reflects IS NULL))[1] AS first_id
    INTO v_size
    FROM recollect.path_arrays(p_tenant, p_thread, v_last.branch, v_last.to_depth) p
    CROSS JOIN recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_all);
    IF p_text = '' OR v_last.branch IS NULL OR v_size.found < cardinality(v_all) OR NOT v_size.placed
        OR recollect.is_reflected(p_tenant, p_thread, v_last.branch, v_last.to_depth, v_all)
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'observation');
    generation := p_generation + 1;
    UPDATE recollect.threads t
    SET last_observation = t.last_observation + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_observation INTO number;
    IF p_active THEN
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND NOT d.active
            AND d.reflects && v_all;
    END IF;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by, active, reflects,
         message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'observation', number, v_last.branch, v_last.to_depth, v_last.to_depth,
         p_text, p_tokens, p_made_by, p_active, v_all,
         v_size.message_count, v_size.message_tokens, v_size.first_id, v_last.last_id);
    PERFORM recollect.audit(p_tenant, 'reflect', p_thread, number::text, cardinality(v_all));
END;
$$;
