-- Stores a checkpoint with its new values.
CREATE OR REPLACE FUNCTION recollect.put_checkpoint(
    p_tenant text, p_actor text, p_thread uuid,
    p_namespace text, p_checkpoint text,
    -- Empty: none. It must be stored, or may be missing.
    p_parent text, p_allow_missing_parent boolean,
    p_type text, p_data bytea,
    -- Bytes of the data as it was sent.
    p_size bigint,
    p_metadata text,
    -- Values that were stored before; the checkpoint is stored without the missing ones.
    p_kept bytea[],
    -- The new values, packed; of the chunks that follow some of them, p_hashes has the hashes.
    p_digests bytea[], p_channels text[], p_versions text[], p_types text[], p_sizes bigint[], p_packed bytea[],
    p_chunk_counts integer[], p_hashes bytea[],
    -- Chunks that may be new.
    p_chunks bytea[], p_contents bytea[],
    p_max_bytes bigint, p_max_metadata_bytes bigint, p_max_ephemeral_bytes bigint,
    -- Without it, a checkpoint that exists is completed only.
    p_may_erase boolean,
    -- ok, thread_not_found, parent_not_found, metadata_too_large, too_large, ephemeral_full or
    -- needs_erase.
    OUT status text,
    -- Values of p_kept that are not stored.
    OUT missing_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_all bytea[];
    v_bytes bigint := octet_length(p_data) + octet_length(p_metadata)
        + (SELECT COALESCE(sum(octet_length(u.data)), 0) FROM unnest(p_packed || p_contents) AS u (data));
    v_added bigint;
    v_hashes bytea[];
    v_replaced bigint;
    v_drops_values boolean;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_parent <> '' AND NOT p_allow_missing_parent AND NOT EXISTS (
        SELECT FROM recollect.checkpoints c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND c.namespace = p_namespace
            -- A repeat may come after the deletion of the parent.
            AND c.checkpoint_id IN (p_parent, p_checkpoint))
    THEN
        status := 'parent_not_found';
        RETURN;
    END IF;
    -- Without the missing values: they must not appear when they are stored later.
    v_all := ARRAY(
        SELECT v.digest FROM recollect.checkpoint_values v
        WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread AND v.digest = ANY (p_kept));
    missing_count := cardinality(p_kept) - cardinality(v_all);
    v_all := v_all || p_digests;
    IF octet_length(p_metadata::jsonb::text) > p_max_metadata_bytes THEN
        status := 'metadata_too_large';
        RETURN;
    END IF;
    -- A value that exists stays as it is.
    IF (SELECT COALESCE(sum(v.size_bytes), 0) FROM recollect.checkpoint_values v
        WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread AND v.digest = ANY (v_all))
        + (SELECT COALESCE(sum(u.size), 0) FROM unnest(p_digests, p_sizes) AS u (digest, size)
           WHERE NOT EXISTS (
               SELECT FROM recollect.checkpoint_values v
               WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread AND v.digest = u.digest)) > p_max_bytes
    THEN
        status := 'too_large';
        RETURN;
    END IF;
    IF recollect.checkpoints_full(p_tenant, p_thread, v_bytes, p_max_ephemeral_bytes) THEN
        status := 'ephemeral_full';
        RETURN;
    END IF;
    IF NOT p_may_erase AND EXISTS (
        SELECT FROM recollect.checkpoints c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND c.namespace = p_namespace
            AND c.checkpoint_id = p_checkpoint AND (
                c.data <> p_data OR c.type <> p_type OR c.parent_id IS DISTINCT FROM p_parent
                OR c.metadata <> p_metadata::jsonb OR NOT c.value_digests <@ v_all))
    THEN
        status := 'needs_erase';
        RETURN;
    END IF;
    WITH added AS (
        INSERT INTO recollect.checkpoint_values AS v
            (tenant_id, thread_id, digest, channel, version, type, size_bytes, data, chunks)
        SELECT p_tenant, p_thread, u.digest, u.channel, u.version, u.type, u.size, u.data,
            CASE WHEN u.chunk_count > 0 THEN p_hashes[u.chunk_end - u.chunk_count + 1 : u.chunk_end] END
        FROM (
            SELECT n.*, sum(n.chunk_count) OVER (ORDER BY n.place)::integer AS chunk_end
            FROM unnest(p_digests, p_channels, p_versions, p_types, p_sizes, p_packed, p_chunk_counts) WITH ORDINALITY
                AS n (digest, channel, version, type, size, data, chunk_count, place)
        ) AS u
        ON CONFLICT DO NOTHING
        RETURNING recollect.checkpoint_row_bytes(v) AS bytes, v.chunks
    )
    SELECT (SELECT COALESCE(sum(a.bytes), 0) FROM added a),
        ARRAY(SELECT h.hash FROM added a CROSS JOIN unnest(a.chunks) AS h (hash))
    INTO v_bytes, v_hashes;
    v_bytes := v_bytes + recollect.store_checkpoint_chunks(p_tenant, p_thread, p_chunks, p_contents, v_hashes);
    SELECT recollect.checkpoint_row_bytes(c), NOT c.value_digests <@ v_all INTO v_replaced, v_drops_values
    FROM recollect.checkpoints c
    WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND c.namespace = p_namespace
        AND c.checkpoint_id = p_checkpoint;
    INSERT INTO recollect.checkpoints AS c
        (tenant_id, thread_id, namespace, checkpoint_id, parent_id, type, data, size_bytes, metadata, value_digests)
    VALUES (p_tenant, p_thread, p_namespace, p_checkpoint, p_parent, p_type, p_data, p_size, p_metadata::jsonb, v_all)
    ON CONFLICT (tenant_id, thread_id, namespace, checkpoint_id) DO UPDATE
    SET parent_id = EXCLUDED.parent_id, type = EXCLUDED.type, data = EXCLUDED.data, size_bytes = EXCLUDED.size_bytes,
        metadata = EXCLUDED.metadata, value_digests = EXCLUDED.value_digests
    RETURNING recollect.checkpoint_row_bytes(c) INTO v_added;
    v_bytes := v_bytes + v_added - COALESCE(v_replaced, 0);
    IF v_drops_values THEN
        v_bytes := v_bytes - recollect.checkpoint_bytes(p_tenant, p_thread);
        PERFORM recollect.collect_checkpoint_values(p_tenant, p_thread);
        v_bytes := v_bytes + recollect.checkpoint_bytes(p_tenant, p_thread);
    END IF;
    PERFORM recollect.add_checkpoint_bytes(p_tenant, p_thread, v_bytes);
    PERFORM recollect.audit(p_tenant, 'put_checkpoint', p_thread, p_checkpoint, cardinality(p_digests));
    status := 'ok';
END;
$$;
