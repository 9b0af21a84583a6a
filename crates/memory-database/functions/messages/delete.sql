-- Erases one message. Its row stays, empty, so that its seq is not assigned again and the
-- messages after it keep their places.
CREATE OR REPLACE FUNCTION recollect.delete_message(
    p_tenant text, p_actor text, p_thread uuid, p_message text,
    OUT status text, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- The messages below it that are indexed again, and the first and last of these changes.
    v_below uuid[];
    v_first bigint;
    v_last bigint;
    v_thread record;
    v_id uuid;
    v_message record;
    v_bytes integer;
    v_next record;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT t.head_id, t.app_id, t.user_id INTO v_thread FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    -- No memory is being made of it; see lock_sources.
    FOR UPDATE;

    v_id := recollect.named_message(p_tenant, p_thread, p_message);
    SELECT m.bytes INTO v_bytes FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = v_id;
    UPDATE recollect.messages m
    SET external_id = NULL, parts = '[]', metadata = '{}', name = '', said_by = '', words = NULL, tokens = 0, bytes = 0,
        deleted_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.message_id = v_id
    RETURNING m.seq, m.branch, m.depth INTO v_message;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;

    -- Not changes that a worker has claimed: if it dies, the next one finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND message_id = v_id AND lease_id IS NULL;
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
    VALUES (p_tenant, p_thread, v_id, v_message.seq, 'delete')
    RETURNING id INTO revision;
    -- The index entries of the messages below it, three levels deep, contain its words:
    -- index them again. Those that wait get a new change too: searches keep what they read of the
    -- waiting ones by the numbers of their changes.
    WITH below AS MATERIALIZED (
        SELECT p.branch, p.depth
        FROM recollect.places_below(p_tenant, p_thread, v_message.branch, v_message.depth, 3) AS p
    ),
    queued AS (
        INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, app_id, user_queue)
        SELECT p_tenant, p_thread, m.message_id, m.seq, 'upsert', v_thread.app_id,
            recollect.memory_queue(p_tenant, v_thread.app_id, v_thread.user_id)
        FROM below
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = below.branch AND m.depth = below.depth AND m.deleted_at IS NULL
        ORDER BY m.seq
        RETURNING id, message_id
    )
    SELECT max(queued.id), min(queued.id), array_agg(queued.message_id) INTO v_last, v_first, v_below FROM queued;
    PERFORM recollect.supersede_changes(p_tenant, p_thread, v_below, v_first);
    revision := GREATEST(revision, v_last);
    PERFORM recollect.erase_memories_by_source(p_tenant, p_thread, v_id, NULL);
    PERFORM recollect.release_contents(p_tenant, ARRAY[v_id::text]);

    IF v_thread.head_id = v_id THEN
        -- The head falls back to the nearest readable message on its path, or
        -- else to the newest of the thread.
        SELECT n.* INTO v_next
        FROM recollect.nearest_readable(p_tenant, p_thread, v_message.branch, v_message.depth - 1) n;
        IF v_next.message_id IS NULL THEN
            SELECT m.message_id, m.seq, m.branch, m.depth, m.path_tokens INTO v_next
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.deleted_at IS NULL
            ORDER BY m.seq DESC
            LIMIT 1;
        END IF;
        UPDATE recollect.threads
        SET head_id = v_next.message_id, head_seq = COALESCE(v_next.seq, 0),
            head_branch = COALESCE(v_next.branch, 0), head_depth = COALESCE(v_next.depth, 0),
            path_tokens = COALESCE(v_next.path_tokens, 0), distill_at = 0
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        -- This path may never have been distilled, or not lately.
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary', 'observation', 'extract');
    PERFORM recollect.erase_distillates_of_message(p_tenant, p_thread, v_message.branch, v_message.depth);
    UPDATE recollect.threads
    SET message_count = message_count - 1, updated_at = clock_timestamp(), stored_bytes = stored_bytes - v_bytes,
        content_bytes = CASE WHEN idle_ttl IS NULL THEN 0 ELSE (
            SELECT COALESCE(sum(m.bytes), 0) FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread) + (
            SELECT COALESCE(sum(e.bytes), 0) FROM recollect.agent_events e
            WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread)
            + recollect.checkpoint_bytes(p_tenant, p_thread) END
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.audit(p_tenant, 'delete_message', p_thread, v_id::text, 1);
    status := 'ok';
END;
$$;
