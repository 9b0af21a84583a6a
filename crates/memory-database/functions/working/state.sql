-- Reads the working memory of a thread without its messages, as of one moment.
CREATE OR REPLACE FUNCTION recollect.working_state(
    p_tenant text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text,
    OUT generation bigint,
    -- The path to the head, as recollect.path_arrays returns it.
    OUT head_depth integer, OUT branches integer[], OUT above integer[], OUT depths integer[],
    -- The number, the end and the text of the summary that holds; null, 0, 0 and ''
    -- without one.
    OUT tip bigint, OUT tip_branch integer, OUT covered integer, OUT context text, OUT context_tokens integer,
    -- Readable messages that the summary covers, and readable messages in the working memory.
    OUT summarized_count bigint, OUT message_count bigint, OUT message_tokens bigint,
    OUT model text, OUT context_window integer, OUT data json, OUT expires_at timestamptz,
    -- It has expired, and was not ended yet.
    OUT expired boolean,
    OUT rebuilt boolean,
    -- Whether it is not empty.
    OUT anything boolean, OUT etag text, OUT updated_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_row record;
    v_tip record;
    v_records text;
    -- The version of a row that only has a model.
    c_none CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    SELECT t.last_seq, t.message_count, t.update_count, t.head_id, t.head_branch, t.head_depth, t.summary_generation, t.updated_at
    INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    status := 'ok';
    generation := v_thread.summary_generation;
    head_depth := v_thread.head_depth;
    SELECT p.* INTO branches, above, depths
    FROM recollect.path_arrays(p_tenant, p_thread, v_thread.head_branch, v_thread.head_depth) p;

    SELECT d.number, d.branch, d.to_depth, d.text, d.tokens, d.created_at INTO v_tip
    FROM recollect.summary_on_path(p_tenant, p_thread, branches, depths) d;
    tip := v_tip.number;
    tip_branch := COALESCE(v_tip.branch, 0);
    covered := COALESCE(v_tip.to_depth, 0);
    context := COALESCE(v_tip.text, '');
    context_tokens := COALESCE(v_tip.tokens, 0);
    summarized_count := 0;
    IF context <> '' THEN
        SELECT COALESCE(sum(d.message_count) FILTER (WHERE NOT d.sets_aside), 0) INTO summarized_count
        FROM recollect.summary_chain(p_tenant, p_thread, tip) d;
    END IF;
    SELECT z.message_count, z.message_tokens INTO message_count, message_tokens
    FROM recollect.range_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, covered, head_depth) z;

    SELECT w.model, w.context_window, w.data, w.version, w.rebuilt, w.expires_at, w.updated_at INTO v_row
    FROM recollect.working_memories w
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread;
    model := COALESCE(v_row.model, '');
    context_window := v_row.context_window;
    data := COALESCE(v_row.data, '{}');
    expires_at := v_row.expires_at;
    expired := COALESCE(v_row.expires_at <= clock_timestamp(), false);
    rebuilt := COALESCE(v_row.rebuilt, false);
    SELECT string_agg(r.memory_id || ':' || m.version, ',' ORDER BY r.position) INTO v_records
    FROM recollect.working_records r
    JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = r.memory_id
    WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread;
    anything := message_count > 0 OR context <> '' OR data::text <> '{}' OR v_records IS NOT NULL;
    etag := left(encode(sha256(convert_to(concat_ws('|',
        COALESCE(NULLIF(v_row.version, c_none)::text, '-'), v_thread.last_seq, v_thread.message_count,
        v_thread.update_count, COALESCE(v_thread.head_id::text, '-'), COALESCE(tip, 0), covered, COALESCE(v_records, '-')), 'UTF8')), 'hex'), 32);
    updated_at := GREATEST(v_thread.updated_at, v_tip.created_at, v_row.updated_at);
END;
$$;
