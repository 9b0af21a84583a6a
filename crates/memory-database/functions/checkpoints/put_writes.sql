-- Stores what tasks have written after a checkpoint, which may be stored later.
CREATE OR REPLACE FUNCTION recollect.put_checkpoint_writes(
    p_tenant text, p_actor text, p_thread uuid, p_namespace text, p_checkpoint text,
    p_tasks text[], p_paths text[], p_indexes integer[], p_channels text[], p_types text[],
    -- As put_checkpoint takes them.
    p_sizes bigint[], p_packed bytea[], p_chunk_counts integer[], p_hashes bytea[], p_chunks bytea[], p_contents bytea[],
    -- Whether writes that exist are replaced; otherwise they stay.
    p_replace boolean,
    p_max_bytes bigint, p_max_ephemeral_bytes bigint,
    -- Without it, writes that exist are replaced by equal ones alone.
    p_may_erase boolean,
    -- ok, thread_not_found, too_large, ephemeral_full or needs_erase.
    OUT status text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_bytes bigint := (SELECT COALESCE(sum(octet_length(u.data)), 0) FROM unnest(p_packed || p_contents) AS u (data));
    v_state numeric;
    v_replaced numeric;
    v_drops_chunks boolean;
    v_hashes bytea[];
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT COALESCE(sum(s.bytes), 0) INTO v_state
    FROM (
        -- The writes that stay.
        SELECT w.size_bytes + recollect.checkpoint_write_names(w.task_id, w.task_path, w.channel, w.type)
        FROM recollect.checkpoint_writes w
        WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.namespace = p_namespace
            AND w.checkpoint_id = p_checkpoint
            AND NOT (p_replace AND EXISTS (
                SELECT FROM unnest(p_tasks, p_indexes) AS u (task, index)
                WHERE u.task = w.task_id AND u.index = w.index))
        UNION ALL
        -- The writes that are stored now.
        SELECT u.size + recollect.checkpoint_write_names(u.task, u.path, u.channel, u.type)
        FROM unnest(p_tasks, p_indexes, p_paths, p_channels, p_types, p_sizes) AS u (task, index, path, channel, type, size)
        WHERE p_replace OR NOT EXISTS (
            SELECT FROM recollect.checkpoint_writes w
            WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.namespace = p_namespace
                AND w.checkpoint_id = p_checkpoint AND w.task_id = u.task AND w.index = u.index)
    ) AS s (bytes);
    IF v_state > p_max_bytes THEN
        status := 'too_large';
        RETURN;
    END IF;
    IF recollect.checkpoints_full(p_tenant, p_thread, v_bytes, p_max_ephemeral_bytes) THEN
        status := 'ephemeral_full';
        RETURN;
    END IF;
    -- Large ones, in chunks, count as others.
    IF p_replace AND NOT p_may_erase AND EXISTS (
        SELECT FROM recollect.checkpoint_writes w
        JOIN unnest(p_tasks, p_indexes, p_paths, p_channels, p_types, p_packed, p_chunk_counts)
            AS u (task, index, path, channel, type, data, chunk_count) ON u.task = w.task_id AND u.index = w.index
        WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.namespace = p_namespace
            AND w.checkpoint_id = p_checkpoint AND (
                (u.path, u.channel, u.type, u.data) IS DISTINCT FROM (w.task_path, w.channel, w.type, w.data)
                OR u.chunk_count > 0 OR w.chunks IS NOT NULL))
    THEN
        status := 'needs_erase';
        RETURN;
    END IF;
    SELECT COALESCE(sum(recollect.checkpoint_row_bytes(w)), 0), COALESCE(bool_or(w.chunks IS NOT NULL), false)
    INTO v_replaced, v_drops_chunks
    FROM recollect.checkpoint_writes w
    JOIN unnest(p_tasks, p_indexes) AS u (task, index) ON u.task = w.task_id AND u.index = w.index
    WHERE p_replace AND w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.namespace = p_namespace
        AND w.checkpoint_id = p_checkpoint;
    WITH added AS (
        INSERT INTO recollect.checkpoint_writes AS w
            (tenant_id, thread_id, namespace, checkpoint_id, task_id, index, task_path, channel, type, size_bytes, data,
             chunks)
        SELECT p_tenant, p_thread, p_namespace, p_checkpoint, u.task, u.index, u.path, u.channel, u.type, u.size, u.data,
            CASE WHEN u.chunk_count > 0 THEN p_hashes[u.chunk_end - u.chunk_count + 1 : u.chunk_end] END
        FROM (
            SELECT v.*, sum(v.chunk_count) OVER (ORDER BY v.place)::integer AS chunk_end
            FROM unnest(p_tasks, p_indexes, p_paths, p_channels, p_types, p_sizes, p_packed, p_chunk_counts) WITH ORDINALITY
                AS v (task, index, path, channel, type, size, data, chunk_count, place)
        ) AS u
        ON CONFLICT (tenant_id, thread_id, namespace, checkpoint_id, task_id, index) DO UPDATE
        SET task_path = EXCLUDED.task_path, channel = EXCLUDED.channel, type = EXCLUDED.type,
            size_bytes = EXCLUDED.size_bytes, data = EXCLUDED.data, chunks = EXCLUDED.chunks
        WHERE p_replace
        RETURNING recollect.checkpoint_row_bytes(w) AS bytes, w.chunks
    )
    SELECT (SELECT COALESCE(sum(a.bytes), 0) FROM added a) - v_replaced,
        ARRAY(SELECT h.hash FROM added a CROSS JOIN unnest(a.chunks) AS h (hash))
    INTO v_bytes, v_hashes;
    v_bytes := v_bytes + recollect.store_checkpoint_chunks(p_tenant, p_thread, p_chunks, p_contents, v_hashes);
    IF v_drops_chunks THEN
        v_bytes := v_bytes - recollect.checkpoint_bytes(p_tenant, p_thread);
        PERFORM recollect.collect_checkpoint_values(p_tenant, p_thread);
        v_bytes := v_bytes + recollect.checkpoint_bytes(p_tenant, p_thread);
    END IF;
    PERFORM recollect.add_checkpoint_bytes(p_tenant, p_thread, v_bytes);
    PERFORM recollect.audit(p_tenant, 'put_checkpoint_writes', p_thread, p_checkpoint, cardinality(p_tasks));
    status := 'ok';
END;
$$;
