-- Activates observations or reflections, which then replace the messages or observations that they
-- cover: all of them or none. Reflections that were ready for the same observations are deleted.
CREATE OR REPLACE FUNCTION recollect.activate_observations(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint, p_numbers bigint[],
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_item record;
    v_numbers bigint[] := ARRAY(SELECT DISTINCT n FROM unnest(p_numbers) AS u (n) ORDER BY n);
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    SELECT count(*) AS found, max(d.number) AS last,
        bool_or(d.active OR d.reflects IS NOT NULL
            AND recollect.is_reflected(p_tenant, p_thread, d.branch, d.to_depth, d.reflects)) AS misplaced,
        count(*) FILTER (WHERE EXISTS (
            SELECT FROM recollect.distillates o
            WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.kind = 'observation'
                AND o.number = ANY (v_numbers) AND o.number <> d.number AND o.reflects && d.reflects)) AS rivals
    INTO v_item
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_numbers);
    IF v_item.found = 0 OR v_item.found < cardinality(v_numbers) OR v_item.misplaced OR v_item.rivals > 0 THEN
        status := 'misplaced';
        RETURN;
    END IF;
    UPDATE recollect.distillates d
    SET active = true
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_numbers);
    DELETE FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND NOT d.active
        AND EXISTS (
            SELECT FROM recollect.distillates o
            WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.kind = 'observation'
                AND o.number = ANY (v_numbers) AND o.reflects && d.reflects);
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'observation');
    generation := p_generation + 1;
    number := v_item.last;
    PERFORM recollect.audit(p_tenant, 'activate_observations', p_thread,
        array_to_string(v_numbers[1:20], ','), v_item.found);
END;
$$;
