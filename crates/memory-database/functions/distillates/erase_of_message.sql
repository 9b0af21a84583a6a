-- Erases the text derived from a message that has just been erased, under the lock of
-- its thread, and queues the thread so that text is derived again from the remaining messages.
CREATE OR REPLACE FUNCTION recollect.erase_distillates_of_message(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- The branches whose path contains the message.
    v_below integer[];
    v_gone bigint[];
    v_copies bigint[];
    v_touched bigint[];
    v_item record;
    v_base record;
    v_branch integer;
    v_depth integer;
BEGIN
    v_below := ARRAY(
        SELECT d.branch
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread
            AND d.to_depth >= p_depth AND d.after_depth <= p_depth
        GROUP BY d.branch
        HAVING EXISTS (
            SELECT FROM recollect.path(p_tenant, p_thread, d.branch, min(d.to_depth)) p
            WHERE p.branch = p_branch AND p.depth >= p_depth));
    IF v_below = '{}' THEN
        RETURN;
    END IF;

    WITH erased AS (
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.reflects IS NULL
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth
        RETURNING d.number
    )
    SELECT array_agg(erased.number) INTO v_gone FROM erased;
    IF v_gone IS NOT NULL THEN
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.reflects && v_gone;
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;

    -- Summaries that set messages aside were not made of them, and stay.
    v_touched := ARRAY(
        SELECT d.number
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.sets_aside
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth);
    WITH RECURSIVE erased (number, sets_aside) AS (
        SELECT d.number, d.sets_aside
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND NOT d.sets_aside
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth
        UNION
        SELECT d.number, d.sets_aside
        FROM erased
        JOIN recollect.distillates d
            ON d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
            AND d.based_on = erased.number AND NOT d.own_text
    )
    SELECT array_agg(erased.number) FILTER (WHERE NOT erased.sets_aside),
        array_agg(erased.number) FILTER (WHERE erased.sets_aside)
    INTO v_gone, v_copies
    FROM erased;
    -- The messages that they set aside stay out of the working memory; their text came from the
    -- erased one.
    UPDATE recollect.distillates d
    SET text = '', tokens = 0
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_copies);
    IF v_gone IS NOT NULL THEN
        -- A summary with its own text stays, and also covers the messages of the erased ones before
        -- it, which thus do not return to the working memory.
        FOR v_item IN
            SELECT d.number, d.based_on
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.based_on = ANY (v_gone) AND NOT d.number = ANY (v_gone)
        LOOP
            v_base := v_item;
            WHILE v_base.based_on = ANY (v_gone) LOOP
                SELECT d.number, d.based_on, d.after_depth INTO v_base
                FROM recollect.distillates d
                WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                    AND d.number = v_base.based_on;
            END LOOP;
            UPDATE recollect.distillates d
            SET based_on = v_base.based_on, after_depth = v_base.after_depth,
                sets_aside = d.sets_aside OR d.after_depth = d.to_depth
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.number = v_item.number;
            v_touched := v_touched || v_item.number;
        END LOOP;
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_gone);
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;

    -- A summary that ended at the message ends at the nearest one before it now: another
    -- message may take the place.
    FOR v_item IN
        SELECT d.number
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
            AND d.branch = p_branch AND d.to_depth = p_depth
        ORDER BY d.number
    LOOP
        SELECT d.after_depth, d.based_on INTO v_base
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_item.number;
        SELECT n.branch, n.depth INTO v_branch, v_depth
        FROM recollect.nearest_readable(p_tenant, p_thread, p_branch, p_depth - 1) n;
        IF v_depth IS NULL OR v_depth <= v_base.after_depth THEN
            SELECT d.branch, d.to_depth INTO v_branch, v_depth
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.number = v_base.based_on;
            v_branch := COALESCE(v_branch, 0);
            v_depth := COALESCE(v_depth, 0);
        END IF;
        UPDATE recollect.distillates d
        SET branch = v_branch, to_depth = v_depth, after_depth = LEAST(d.after_depth, v_depth)
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_item.number;
        UPDATE recollect.distillates d
        SET after_depth = v_depth
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.based_on = v_item.number;
        v_touched := v_touched || v_item.number;
    END LOOP;

    UPDATE recollect.distillates d
    SET message_count = size.message_count, message_tokens = size.message_tokens,
        first_id = size.first_id, last_id = size.last_id
    FROM recollect.distillates s
    CROSS JOIN LATERAL recollect.measure_range(p_tenant, p_thread, s.branch, s.after_depth, s.to_depth) AS size
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_touched)
        AND s.tenant_id = p_tenant AND s.thread_id = p_thread AND s.kind = 'summary' AND s.number = d.number;
END;
$$;
