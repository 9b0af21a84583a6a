-- Replaces an older memory by a newer one. A repeated call returns the same.
CREATE OR REPLACE FUNCTION recollect.supersede_memory(
    p_tenant text, p_actor text, p_memory uuid, p_scope text, p_item jsonb
)
-- Two rows: the newer memory, then the older one.
RETURNS TABLE (
    -- ok, memory_not_found, changed (another memory superseded it already),
    -- same_text, or source_not_found (source: which one, from 0).
    status text, source integer, revision bigint, memory recollect.memories, sources uuid[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_old recollect.memories;
    v_new recollect.memories;
    v_hash bytea := decode(p_item ->> 'hash', 'hex');
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_sources(p_tenant, jsonb_build_array(p_item));
    PERFORM recollect.lock_memory_owner(p_tenant, p_memory);
    SELECT m.* INTO v_old FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory
    FOR UPDATE;
    status := CASE
        WHEN NOT FOUND THEN 'memory_not_found'
        WHEN v_old.content_hash = v_hash THEN 'same_text'
        ELSE 'ok'
    END;
    IF status = 'ok' AND v_old.valid_until IS NOT NULL THEN
        SELECT m.* INTO v_new FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = v_old.superseded_by AND m.content_hash = v_hash;
        status := CASE WHEN FOUND THEN 'replayed' ELSE 'changed' END;
    END IF;
    IF status = 'ok' THEN
        SELECT s.source INTO source
        FROM recollect.missing_source(
            p_tenant, v_old.app_id, v_old.user_id, jsonb_build_array(p_item), '{}') AS s;
        IF source IS NOT NULL THEN
            status := 'source_not_found';
        END IF;
    END IF;
    IF status NOT IN ('ok', 'replayed') THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF status = 'ok' THEN
        -- Before the newer one is stored, which may have the same record.
        SELECT e.* INTO v_old
        FROM recollect.end_memories(p_tenant, v_old.app_id, v_old.user_id, ARRAY[p_memory], NULL, true) AS e;
        SELECT (p.memory).* INTO v_new
        FROM recollect.put_memory(p_tenant, v_old.app_id, v_old.user_id, p_scope, p_item, 'caller', NULL, '', '') AS p;
        UPDATE recollect.memories
        -- At each moment one of the two is true, and one is believed.
        SET superseded_by = v_new.memory_id, valid_until = GREATEST(valid_from, v_new.valid_from),
            ended_at = GREATEST(ended_at, v_new.created_at)
        WHERE tenant_id = p_tenant AND memory_id = p_memory
        RETURNING * INTO v_old;
        revision := recollect.enqueue_memory(p_tenant, v_old.app_id, v_old.user_id, p_memory, 'upsert');
        PERFORM recollect.check_memory_count(p_tenant, v_old.app_id, v_old.user_id, p_item);
        PERFORM recollect.audit_of(
            p_tenant, 'supersede_memory', v_old.thread_id, p_memory::text, 1, v_old.app_id, v_old.user_id);
    ELSE
        revision := recollect.queued_revision(
            p_tenant, v_old.app_id, v_old.user_id, ARRAY[p_memory, v_new.memory_id]);
    END IF;
    status := 'ok';
    memory := v_new;
    sources := recollect.sources_of(p_tenant, v_new.memory_id);
    RETURN NEXT;
    memory := v_old;
    sources := recollect.sources_of(p_tenant, p_memory);
    RETURN NEXT;
END;
$$;
