-- Reads the derived text of the path to a head, which of it holds, and which messages are
-- not covered, in one snapshot.
--
-- Two texts may overlap on a path where one was made for another path that forks in
-- between. The one that reaches deeper holds, and the other is `shadowed`, so a path has
-- the same texts when the head returns to it.
CREATE OR REPLACE FUNCTION recollect.distill_state(
    p_tenant text, p_thread uuid,
    -- The head's name; null: the thread's.
    p_head text,
    -- Whether to return texts that no longer hold, too.
    p_replaced boolean,
    -- ok, thread_not_found or message_not_found.
    OUT status text, OUT summary_generation bigint, OUT observation_generation bigint,
    OUT head_id uuid, OUT branches integer[], OUT above integer[], OUT depths integer[],
    -- Texts with the standing holds or ready, and with p_replaced also replaced or
    -- shadowed.
    OUT distillates json,
    -- Readable messages that a summary covers, and readable messages set aside.
    OUT summarized_count bigint, OUT set_aside_count bigint,
    -- The ranges that no summary, and no active observation, covers: after_depth,
    -- to_depth, message_count, message_tokens.
    OUT raw_summary json, OUT raw_observations json,
    OUT path_tokens bigint, OUT distill_at bigint, OUT last_seq bigint, OUT last_error text
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_item record;
    v_valid bigint[];
    v_summaries bigint[];
    v_tip bigint;
    v_chain bigint[];
    v_covered integer;
    -- The shallowest depth that an observation covers so far, and that an active one
    -- covers.
    v_floor integer;
    v_raw_floor integer;
    v_active bigint[] := '{}';
    v_ready bigint[] := '{}';
    v_hidden bigint[] := '{}';
    v_gap_after integer[] := '{}';
    v_gap_to integer[] := '{}';
BEGIN
    SELECT t.last_seq, t.message_count, t.head_id, t.head_branch, t.head_depth, t.path_tokens,
        t.summary_generation, t.observation_generation, t.distill_at,
        COALESCE((SELECT j.last_error FROM recollect.distill_jobs j
                  WHERE j.tenant_id = p_tenant AND j.thread_id = p_thread), '') AS last_error
    INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    head_id := v_thread.head_id;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    path_tokens := v_thread.path_tokens;
    IF p_head IS NOT NULL THEN
        SELECT m.message_id, m.branch, m.depth, m.path_tokens INTO head_id, v_branch, v_depth, path_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_head);
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN;
        END IF;
    END IF;
    status := 'ok';
    summary_generation := v_thread.summary_generation;
    observation_generation := v_thread.observation_generation;
    distill_at := v_thread.distill_at;
    last_seq := v_thread.last_seq;
    last_error := v_thread.last_error;
    SELECT p.* INTO branches, above, depths FROM recollect.path_arrays(p_tenant, p_thread, v_branch, v_depth) p;

    v_summaries := ARRAY(
        SELECT * FROM recollect.distillates_on_path(p_tenant, p_thread, 'summary', branches, depths));
    SELECT d.number, COALESCE(d.to_depth, 0) INTO v_tip, v_covered
    FROM recollect.summary_on_path(p_tenant, p_thread, branches, depths) d;
    SELECT COALESCE(array_agg(d.number), '{}'),
        COALESCE(sum(d.message_count) FILTER (WHERE NOT d.sets_aside), 0),
        COALESCE(sum(d.message_count) FILTER (WHERE d.sets_aside), 0)
    INTO v_chain, summarized_count, set_aside_count
    FROM recollect.summary_chain(p_tenant, p_thread, v_tip) d;

    v_valid := ARRAY(
        SELECT * FROM recollect.distillates_on_path(p_tenant, p_thread, 'observation', branches, depths));
    v_floor := v_depth;
    v_raw_floor := v_depth;
    FOR v_item IN
        SELECT d.number, d.after_depth, d.to_depth, d.active
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.number = ANY (v_valid) AND d.reflects IS NULL
        ORDER BY d.to_depth DESC, d.number DESC
    LOOP
        CONTINUE WHEN v_item.to_depth > v_floor;
        v_floor := v_item.after_depth;
        IF NOT v_item.active THEN
            v_ready := v_ready || v_item.number;
            CONTINUE;
        END IF;
        v_active := v_active || v_item.number;
        IF v_item.to_depth < v_raw_floor THEN
            v_gap_after := v_item.to_depth || v_gap_after;
            v_gap_to := v_raw_floor || v_gap_to;
        END IF;
        v_raw_floor := v_item.after_depth;
    END LOOP;
    IF v_raw_floor > 0 THEN
        v_gap_after := 0 || v_gap_after;
        v_gap_to := v_raw_floor || v_gap_to;
    END IF;
    FOR v_item IN
        SELECT d.number, d.reflects, d.active
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.number = ANY (v_valid) AND d.reflects IS NOT NULL
        ORDER BY d.active DESC, d.to_depth DESC, d.number DESC
    LOOP
        CONTINUE WHEN v_item.number = ANY (v_hidden) OR v_item.reflects && v_hidden
            -- The observations that it condenses have to hold themselves.
            OR EXISTS (
                SELECT FROM recollect.distillates d
                WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                    AND d.number = ANY (v_item.reflects) AND d.reflects IS NULL AND NOT d.number = ANY (v_active));
        IF v_item.active THEN
            v_active := v_active || v_item.number;
            v_hidden := v_hidden || v_item.reflects;
        ELSE
            v_ready := v_ready || v_item.number;
        END IF;
    END LOOP;

    SELECT COALESCE(json_agg(json_build_object(
            'kind', s.kind, 'number', s.number, 'standing', s.standing,
            'branch', s.branch, 'after_depth', s.after_depth, 'to_depth', s.to_depth,
            'text', s.text, 'tokens', s.tokens, 'made_by', s.made_by, 'based_on', s.based_on, 'own_text', s.own_text,
            'sets_aside', s.sets_aside, 'active', s.active, 'reflects', s.reflects,
            'message_count', s.message_count, 'message_tokens', s.message_tokens,
            'first_id', s.first_id, 'last_id', s.last_id,
            'created_us', (extract(epoch FROM s.created_at) * 1000000)::bigint) ORDER BY s.kind, s.number), '[]')
    INTO distillates
    FROM (
        SELECT d.*, CASE
            WHEN d.number = v_tip THEN 'holds'
            WHEN d.number = ANY (v_chain) THEN 'replaced'
            ELSE 'shadowed' END AS standing
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_summaries)
        UNION ALL
        SELECT d.*, CASE
            WHEN d.number = ANY (v_hidden) THEN 'replaced'
            WHEN d.number = ANY (v_active) THEN 'holds'
            WHEN d.number = ANY (v_ready) THEN 'ready'
            ELSE 'shadowed' END
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_valid)
    ) AS s
    WHERE p_replaced OR s.standing IN ('holds', 'ready');
    SELECT json_build_object('after_depth', v_covered, 'to_depth', v_depth,
        'message_count', z.message_count, 'message_tokens', z.message_tokens)
    INTO raw_summary
    FROM recollect.range_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, v_covered, v_depth) z;
    SELECT COALESCE(json_agg(json_build_object('after_depth', gap.after_depth, 'to_depth', gap.to_depth,
        'message_count', z.message_count, 'message_tokens', z.message_tokens) ORDER BY gap.after_depth), '[]')
    INTO raw_observations
    FROM unnest(v_gap_after, v_gap_to) AS gap (after_depth, to_depth)
    CROSS JOIN LATERAL recollect.range_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, gap.after_depth, gap.to_depth) z;
END;
$$;
