-- The number of readable messages of a range (on the path to a place, with
-- p_after < depth ≤ p_to), their tokens, the first and the last of them.
CREATE OR REPLACE FUNCTION recollect.measure_range(
    p_tenant text, p_thread uuid, p_branch integer, p_after integer, p_to integer,
    OUT message_count bigint, OUT message_tokens bigint, OUT first_id uuid, OUT last_id uuid
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_part record;
    v_id uuid;
    v_count bigint;
    v_tokens bigint;
BEGIN
    message_count := 0;
    message_tokens := 0;
    FOR v_part IN SELECT p.branch, p.above, p.depth FROM recollect.path(p_tenant, p_thread, p_branch, p_to) p LOOP
        EXIT WHEN v_part.depth <= p_after;
        SELECT count(*), COALESCE(sum(m.tokens), 0) INTO v_count, v_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_part.branch
            AND m.depth > GREATEST(v_part.above, p_after) AND m.depth <= v_part.depth AND m.deleted_at IS NULL;
        CONTINUE WHEN v_count = 0;
        message_count := message_count + v_count;
        message_tokens := message_tokens + v_tokens;
        SELECT m.message_id INTO first_id
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_part.branch
            AND m.depth > GREATEST(v_part.above, p_after) AND m.depth <= v_part.depth AND m.deleted_at IS NULL
        ORDER BY m.depth
        LIMIT 1;
        IF last_id IS NULL THEN
            SELECT m.message_id INTO last_id
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_part.branch
                AND m.depth > GREATEST(v_part.above, p_after) AND m.depth <= v_part.depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT 1;
        END IF;
    END LOOP;
END;
$$;
