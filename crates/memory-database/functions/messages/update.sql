-- Replaces the metadata of a message, and returns it.
CREATE OR REPLACE FUNCTION recollect.update_message(
    p_tenant text, p_actor text, p_thread uuid, p_message text, p_metadata jsonb, p_max_ephemeral_bytes bigint,
    -- ok, thread_not_found, message_not_found or ephemeral_full.
    OUT status text, OUT message recollect.message, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_message record;
    v_more integer;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT t.app_id, t.user_id, t.idle_ttl INTO v_thread FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    SELECT m.message_id, m.seq, m.metadata INTO v_message FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_message)
        AND m.deleted_at IS NULL;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;
    v_more := octet_length(p_metadata::text) - octet_length(v_message.metadata::text);
    IF v_thread.idle_ttl IS NOT NULL AND v_more > 0
        AND recollect.ephemeral_full(p_tenant, 0, v_more, NULL, p_max_ephemeral_bytes)
    THEN
        status := 'ephemeral_full';
        RETURN;
    END IF;
    UPDATE recollect.messages m
    SET metadata = p_metadata, bytes = m.bytes + v_more
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = v_message.seq
    RETURNING (recollect.readable(m)).* INTO message;
    UPDATE recollect.threads t
    SET update_count = t.update_count + 1, updated_at = clock_timestamp(), stored_bytes = t.stored_bytes + v_more,
        content_bytes = CASE WHEN t.idle_ttl IS NULL THEN t.content_bytes ELSE t.content_bytes + v_more END
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    -- The index filters by metadata.
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, app_id, user_queue)
    VALUES (p_tenant, p_thread, v_message.message_id, v_message.seq, 'upsert', v_thread.app_id,
        recollect.memory_queue(p_tenant, v_thread.app_id, v_thread.user_id))
    RETURNING outbox.id INTO revision;
    PERFORM recollect.supersede_changes(p_tenant, p_thread, ARRAY[v_message.message_id], revision);
    PERFORM recollect.audit(p_tenant, 'update_message', p_thread, v_message.message_id::text, 1);
    status := 'ok';
END;
$$;
