-- Changes a memory to the values of p_item (see put_memory), if it still has version
-- p_version.
CREATE OR REPLACE FUNCTION recollect.update_memory(
    p_tenant text, p_actor text, p_memory uuid, p_version bigint, p_scope text, p_item jsonb,
    -- ok, memory_not_found, changed (it has another version), known (other: the
    -- memory that has the text).
    OUT status text, OUT other uuid, OUT revision bigint, OUT memory recollect.memories, OUT sources uuid[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_hash bytea := decode(p_item ->> 'hash', 'hex');
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memory_owner(p_tenant, p_memory);
    SELECT m.* INTO memory FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory
    FOR UPDATE;
    IF NOT FOUND THEN
        status := 'memory_not_found';
        RETURN;
    END IF;
    IF memory.version <> p_version THEN
        status := 'changed';
        RETURN;
    END IF;
    IF memory.valid_until IS NULL THEN
        SELECT m.memory_id INTO other FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = memory.app_id AND m.user_id = memory.user_id
            AND m.content_hash = v_hash AND m.valid_until IS NULL AND m.memory_id <> p_memory;
        IF FOUND THEN
            status := 'known';
            RETURN;
        END IF;
    END IF;
    UPDATE recollect.memories
    SET text = p_item ->> 'text',
        words = recollect.lexemes(p_item ->> 'words') || recollect.lexemes(p_scope),
        content_hash = v_hash, type = p_item ->> 'type', topics = recollect.json_to_texts(p_item -> 'topics'),
        entities = recollect.json_to_texts(p_item -> 'entities'), metadata = (p_item ->> 'metadata')::jsonb,
        kind = p_item ->> 'kind', attributes = (p_item ->> 'attributes')::jsonb,
        event_time = recollect.time_from_micros((p_item ->> 'event')::bigint),
        pinned = (p_item ->> 'pinned')::boolean, version = version + 1, persisted_at = NULL,
        updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND memory_id = p_memory
    RETURNING * INTO memory;
    revision := recollect.enqueue_memory(p_tenant, memory.app_id, memory.user_id, p_memory, 'upsert');
    sources := recollect.sources_of(p_tenant, p_memory);
    PERFORM recollect.audit_of(
        p_tenant, 'update_memory', memory.thread_id, p_memory::text, 1, memory.app_id, memory.user_id);
    status := 'ok';
END;
$$;
