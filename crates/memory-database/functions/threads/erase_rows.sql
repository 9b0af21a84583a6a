-- Erases rows that belong to a thread, about p_limit of them at most; null: all. The caller has
-- the thread's lock. The thread's row, its remembered requests, its removal from the index and
-- memories with other sources stay.
CREATE OR REPLACE FUNCTION recollect.erase_thread_rows(
    p_tenant text, p_thread uuid, p_limit bigint,
    -- The messages up to this seq are erased; null: not known. The result is the argument of the
    -- next call.
    INOUT erased_seq bigint,
    -- Rows erased by this call, by table.
    OUT counts jsonb,
    -- Whether nothing is left.
    OUT done boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_left bigint := COALESCE(p_limit, 9223372036854775807);
    v_count bigint;
    v_from bigint := erased_seq;
    v_last bigint;
    v_hidden boolean;
    v_nodes text[];
    v_holders text[];
    v_table text;
BEGIN
    counts := '{}';
    done := true;
    -- First, because callers may still read them. For a hidden thread this is a step of its own,
    -- because the lock of the user's memories lasts as long as the transaction.
    v_hidden := p_limit IS NOT NULL AND EXISTS (
        SELECT FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.expires_at <= clock_timestamp());
    IF NOT v_hidden OR recollect.any_memory_of_thread(p_tenant, p_thread) THEN
        v_count := recollect.erase_memories_by_source(p_tenant, p_thread, NULL, v_left);
        counts := recollect.add_count(counts, 'memory_sources', v_count);
        done := NOT v_hidden AND v_count < v_left;
        v_left := v_left - v_count;
        IF v_hidden THEN
            RETURN;
        END IF;
    END IF;

    -- By seq: a limit would read the rows that were erased before over and over.
    SELECT COALESCE(max(t.last_seq), 0) INTO v_last FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF v_from IS NULL THEN
        SELECT COALESCE(min(m.seq) - 1, v_last) INTO v_from FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread;
    END IF;
    erased_seq := v_from + GREATEST(LEAST(v_last - v_from, v_left), 0);
    v_nodes := ARRAY(
        SELECT n.node_id FROM recollect.node_memories n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread
        LIMIT CASE WHEN p_limit IS NULL THEN NULL ELSE LEAST(v_left, 50) END);
    SELECT array_agg(h.holder), count(*) INTO v_holders, v_count
    FROM (
        SELECT m.message_id::text AS holder
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq > v_from AND m.seq <= erased_seq
        UNION ALL
        SELECT p_thread || '/' || n.node_id FROM unnest(v_nodes) AS n (node_id)
    ) AS erased
    JOIN recollect.content_holders h ON h.tenant_id = p_tenant AND h.holder = erased.holder;
    -- In one call, which locks contents in order.
    PERFORM recollect.release_contents(p_tenant, v_holders);
    counts := recollect.add_count(counts, 'content_holders', v_count);
    DELETE FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq > v_from AND m.seq <= erased_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    counts := recollect.add_count(counts, 'messages', v_count);
    done := done AND erased_seq >= v_last;
    v_left := v_left - (erased_seq - v_from);

    FOREACH v_table IN ARRAY recollect.thread_tables()
    LOOP
        CONTINUE WHEN v_table IN (
            -- Erased above and below.
            'memory_sources', 'extract_again', 'node_copies', 'node_memories',
            -- Kept while a thread is cleared; erase_thread_step erases it.
            'requests',
            -- The queue to object storage.
            'object_deletions');
        EXECUTE format(
            'DELETE FROM recollect.%1$I d
             WHERE d.tenant_id = $1 AND d.ctid = ANY (ARRAY(
                SELECT x.ctid FROM recollect.%1$I x WHERE x.tenant_id = $1 AND x.thread_id = $2 %2$s LIMIT $3))',
            v_table,
            -- Not changes that a worker has claimed: if it dies, the next one finds the message gone.
            CASE v_table WHEN 'outbox' THEN 'AND x.op <> ''purge'' AND x.lease_id IS NULL' ELSE '' END)
        USING p_tenant, p_thread, v_left;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        counts := recollect.add_count(counts, v_table, v_count);
        done := done AND v_count < v_left;
        v_left := v_left - v_count;
    END LOOP;

    -- Last: each takes its remaining rows with it.
    IF NOT done THEN
        RETURN;
    END IF;
    WITH copies AS (
        DELETE FROM recollect.node_copies c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread
        RETURNING c.node_id, c.object_key
    ),
    queued AS (
        INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
        SELECT p_tenant, p_thread, copies.node_id, copies.object_key FROM copies
        RETURNING 1
    )
    SELECT count(*) INTO v_count FROM queued;
    counts := recollect.add_count(counts, 'node_copies', v_count);
    PERFORM recollect.erase_node(p_tenant, p_thread, n.node_id) FROM unnest(v_nodes) AS n (node_id);
    counts := recollect.add_count(counts, 'node_memories', cardinality(v_nodes));
    done := p_limit IS NULL OR cardinality(v_nodes) < LEAST(v_left, 50);
END;
$$;
