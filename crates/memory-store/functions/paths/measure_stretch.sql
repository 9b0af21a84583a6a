-- What a stretch has: how many readable messages, their tokens, the first and
-- the last.
CREATE OR REPLACE FUNCTION recollect.measure_stretch(
    p_tenant text, p_thread uuid, p_branch integer, p_after integer, p_to integer,
    OUT message_count bigint, OUT message_tokens bigint, OUT first_id uuid, OUT last_id uuid
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_way record;
    v_id uuid;
    v_count bigint;
    v_tokens bigint;
BEGIN
    message_count := 0;
    message_tokens := 0;
    FOR v_way IN SELECT p.branch, p.above, p.depth FROM recollect.path(p_tenant, p_thread, p_branch, p_to) p LOOP
        EXIT WHEN v_way.depth <= p_after;
        SELECT count(*), COALESCE(sum(m.tokens), 0) INTO v_count, v_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
            AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL;
        CONTINUE WHEN v_count = 0;
        message_count := message_count + v_count;
        message_tokens := message_tokens + v_tokens;
        SELECT m.message_id INTO first_id
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
            AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL
        ORDER BY m.depth
        LIMIT 1;
        IF last_id IS NULL THEN
            SELECT m.message_id INTO last_id
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
                AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT 1;
        END IF;
    END LOOP;
END;
$$;
