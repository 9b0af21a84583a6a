-- Makes the summary that was extracted of a thread follow its head. A summary of messages
-- on another path ends. Of its predecessors, and of the summaries that ended when the head
-- left their path, the one that reaches deepest on this path holds again. With p_rewind
-- extraction continues from where that one ends; without one, from where the ended summaries
-- began. Returns whether anything was changed.
CREATE OR REPLACE FUNCTION recollect.realign_summary(
    p_tenant text, p_actor text, p_thread uuid, p_rewind boolean DEFAULT true
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_path record;
    v_off_path uuid[];
    v_chain uuid[];
    v_ended uuid[];
    v_back uuid;
    v_is_ended boolean;
    v_covered integer;
    v_imported boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.app_id, t.user_id, t.head_id, t.head_branch, t.head_depth INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT p.* INTO v_path
    FROM recollect.path_arrays(p_tenant, p_thread, v_thread.head_branch, v_thread.head_depth) p;
    v_off_path := ARRAY(
        SELECT m.memory_id
        FROM recollect.memories m
        CROSS JOIN LATERAL recollect.reach_of_memory(p_tenant, p_thread, m.memory_id, v_path.branches, v_path.depths) AS reach
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.valid_until IS NULL AND NOT m.pinned AND reach.off_path);
    -- Until here no lock was taken, and mostly there is nothing to do.
    IF v_off_path = '{}' AND NOT EXISTS (
        SELECT FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary' AND m.left_path)
    THEN
        RETURN false;
    END IF;
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.head_id = v_thread.head_id
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        -- The head has moved again, which queued the thread once more.
        RETURN false;
    END IF;
    PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
    -- Without those that a caller has erased or corrected.
    WITH RECURSIVE chain AS (
        SELECT m.memory_id, m.left_path
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND (m.left_path OR m.memory_id = ANY (v_off_path))
        UNION
        SELECT m.memory_id, chain.left_path
        FROM chain
        JOIN recollect.memories m
            ON m.tenant_id = p_tenant AND m.superseded_by = chain.memory_id
            AND m.thread_id = p_thread AND m.strategy = 'summary' AND NOT m.pinned
    )
    SELECT array_agg(chain.memory_id) FILTER (WHERE NOT chain.left_path), array_agg(chain.memory_id)
    INTO v_chain, v_ended
    FROM chain;
    SELECT m.memory_id, reach.covered, m.valid_until IS NOT NULL INTO v_back, v_covered, v_is_ended
    FROM recollect.memories m
    CROSS JOIN LATERAL recollect.reach_of_memory(p_tenant, p_thread, m.memory_id, v_path.branches, v_path.depths) AS reach
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary' AND NOT m.pinned
        AND NOT reach.off_path
        AND (m.valid_until IS NULL OR m.memory_id = ANY (v_ended) AND NOT EXISTS (
            -- Another memory may say the same by now.
            SELECT FROM recollect.memories o
            WHERE o.tenant_id = p_tenant AND o.app_id = m.app_id AND o.user_id = m.user_id
                AND (o.content_hash = m.content_hash OR m.record_id <> '' AND o.record_id = m.record_id)
                AND o.valid_until IS NULL AND NOT o.memory_id = ANY (v_off_path)))
    ORDER BY reach.covered DESC NULLS LAST, m.valid_until IS NULL DESC, m.ordinal DESC
    LIMIT 1;
    IF v_off_path = '{}' AND v_is_ended IS NOT TRUE THEN
        RETURN false;
    END IF;
    IF v_is_ended THEN
        -- It also replaces those that hold and reach less deep.
        v_off_path := ARRAY(
            SELECT m.memory_id
            FROM recollect.memories m
            CROSS JOIN LATERAL recollect.reach_of_memory(p_tenant, p_thread, m.memory_id, v_path.branches, v_path.depths) AS reach
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
                AND m.valid_until IS NULL AND NOT m.pinned AND (reach.off_path OR reach.covered <= v_covered));
    END IF;
    SELECT COALESCE(v_covered, min(x.depth) - 1), bool_or(x.imported) INTO v_covered, v_imported
    FROM recollect.memory_sources s
    JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id
    WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (v_chain) AND s.thread_id = p_thread;

    PERFORM recollect.end_memories(p_tenant, v_thread.app_id, v_thread.user_id, v_off_path, v_back, false);
    UPDATE recollect.memories m
    SET left_path = v_back IS NULL
    WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_off_path || v_back)
        AND m.left_path <> (v_back IS NULL);
    UPDATE recollect.memories m
    SET valid_until = NULL, superseded_by = NULL, version = version + 1, updated_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.memory_id = v_back AND m.valid_until IS NOT NULL;
    PERFORM recollect.enqueue_memory(p_tenant, v_thread.app_id, v_thread.user_id, u.id, 'upsert')
    FROM unnest(v_off_path || v_back) AS u (id)
    WHERE u.id IS NOT NULL;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'extract');
    PERFORM recollect.note(p_tenant, 'extract_memories', p_thread, '', 0);
    IF NOT p_rewind THEN
        RETURN true;
    END IF;
    -- The summary that holds covers nothing of other branches.
    UPDATE recollect.branches b
    SET extract_seq = COALESCE((
        SELECT CASE WHEN v_back IS NULL THEN LEAST(b.extract_seq, m.seq) ELSE m.seq END
        FROM unnest(v_path.branches, v_path.depths) AS part (branch, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
            AND m.depth <= LEAST(part.depth, v_covered) AND m.deleted_at IS NULL
        WHERE part.branch = b.branch
        ORDER BY m.depth DESC
        LIMIT 1), 0)
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread;
    IF v_imported THEN
        PERFORM recollect.unmark_imported(p_tenant, p_thread);
    END IF;
    RETURN true;
END;
$$;
