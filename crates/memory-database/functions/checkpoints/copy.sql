-- Copies the checkpoints of a thread into another one. Its own checkpoints stay, with their writes.
CREATE OR REPLACE FUNCTION recollect.copy_checkpoints(
    p_tenant text, p_actor text, p_source uuid, p_target uuid, p_max_ephemeral_bytes bigint,
    -- ok, thread_not_found, values_differ or ephemeral_full.
    OUT status text, OUT copied_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_before bigint;
    v_namespaces text[];
    v_checkpoints text[];
BEGIN
    -- In order, to avoid deadlocks.
    IF NOT recollect.lock_thread(p_tenant, p_actor, LEAST(p_source, p_target))
        OR NOT recollect.lock_thread(p_tenant, p_actor, GREATEST(p_source, p_target))
    THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF recollect.checkpoints_full(
        p_tenant, p_target, recollect.checkpoint_bytes(p_tenant, p_source), p_max_ephemeral_bytes)
    THEN
        status := 'ephemeral_full';
        RETURN;
    END IF;
    IF EXISTS (
        SELECT FROM recollect.checkpoint_values v
        JOIN recollect.checkpoint_values x
            ON x.tenant_id = p_tenant AND x.thread_id = p_target AND x.digest = v.digest
        WHERE v.tenant_id = p_tenant AND v.thread_id = p_source
            AND (x.type, x.size_bytes, x.data, x.chunks) IS DISTINCT FROM (v.type, v.size_bytes, v.data, v.chunks))
    THEN
        status := 'values_differ';
        RETURN;
    END IF;
    v_before := recollect.checkpoint_bytes(p_tenant, p_target);
    INSERT INTO recollect.checkpoint_chunks (tenant_id, thread_id, hash, data)
    SELECT k.tenant_id, p_target, k.hash, k.data FROM recollect.checkpoint_chunks k
    WHERE k.tenant_id = p_tenant AND k.thread_id = p_source
    ON CONFLICT DO NOTHING;
    INSERT INTO recollect.checkpoint_values (tenant_id, thread_id, digest, channel, version, type, size_bytes, data, chunks)
    SELECT v.tenant_id, p_target, v.digest, v.channel, v.version, v.type, v.size_bytes, v.data, v.chunks
    FROM recollect.checkpoint_values v
    WHERE v.tenant_id = p_tenant AND v.thread_id = p_source
    ON CONFLICT DO NOTHING;
    WITH added AS (
        INSERT INTO recollect.checkpoints AS x
            (tenant_id, thread_id, namespace, checkpoint_id, parent_id, type, data, size_bytes, metadata, value_digests)
        SELECT c.tenant_id, p_target, c.namespace, c.checkpoint_id, c.parent_id, c.type, c.data, c.size_bytes, c.metadata,
            c.value_digests
        FROM recollect.checkpoints c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_source
        ON CONFLICT DO NOTHING
        RETURNING x.namespace, x.checkpoint_id
    )
    SELECT count(*), array_agg(a.namespace), array_agg(a.checkpoint_id)
    INTO copied_count, v_namespaces, v_checkpoints
    FROM added a;
    INSERT INTO recollect.checkpoint_writes
        (tenant_id, thread_id, namespace, checkpoint_id, task_id, index, task_path, channel, type, size_bytes, data, chunks)
    SELECT w.tenant_id, p_target, w.namespace, w.checkpoint_id, w.task_id, w.index, w.task_path, w.channel, w.type,
        w.size_bytes, w.data, w.chunks
    FROM unnest(v_namespaces, v_checkpoints) AS u (namespace, checkpoint_id)
    JOIN recollect.checkpoint_writes w
        ON w.tenant_id = p_tenant AND w.thread_id = p_source AND w.namespace = u.namespace
        AND w.checkpoint_id = u.checkpoint_id
    ON CONFLICT DO NOTHING;
    PERFORM recollect.add_checkpoint_bytes(p_tenant, p_target, recollect.checkpoint_bytes(p_tenant, p_target) - v_before);
    IF copied_count > 0 OR recollect.checkpoint_bytes(p_tenant, p_target) <> v_before THEN
        PERFORM recollect.audit(p_tenant, 'copy_checkpoints', p_target, p_source::text, copied_count);
    END IF;
    status := 'ok';
END;
$$;
