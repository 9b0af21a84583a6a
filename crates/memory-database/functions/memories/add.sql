-- Stores memories of one user: all or none.
CREATE OR REPLACE FUNCTION recollect.add_memories(
    p_tenant text, p_actor text, p_app text, p_user text, p_scope text, p_items jsonb, p_origin text,
    p_thread uuid
)
RETURNS TABLE (
    -- ok, or source_not_found (item and source: which one, from 0).
    status text, item integer, source integer,
    created boolean, revision bigint, memory recollect.memories, sources uuid[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_item jsonb;
    v_put record;
    v_threads uuid[] := '{}';
    v_created boolean := false;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
    PERFORM recollect.lock_sources(p_tenant, p_items);
    PERFORM recollect.lock_memories(p_tenant, p_app, p_user);
    SELECT s.* INTO item, source FROM recollect.missing_source(p_tenant, p_app, p_user, p_items, '{}') AS s;
    IF item IS NOT NULL THEN
        status := 'source_not_found';
        RETURN NEXT;
        RETURN;
    END IF;

    status := 'ok';
    FOR v_item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place LOOP
        SELECT * INTO v_put
        FROM recollect.put_memory(p_tenant, p_app, p_user, p_scope, v_item, p_origin, p_thread, '', '') AS p;
        created := v_put.created;
        v_created := v_created OR created;
        revision := v_put.revision;
        memory := v_put.memory;
        sources := recollect.sources_of(p_tenant, memory.memory_id);
        IF revision IS NOT NULL THEN
            v_threads := v_threads || COALESCE(p_thread, memory.thread_id);
        ELSIF memory.persisted_at IS NULL THEN
            revision := recollect.queued_revision(p_tenant, p_app, p_user, ARRAY[memory.memory_id]);
        END IF;
        RETURN NEXT;
    END LOOP;
    IF v_created THEN
        PERFORM recollect.check_memory_count(p_tenant, p_app, p_user, p_items -> 0);
    END IF;
    -- One record for each thread, so that the watchers of a thread learn of its
    -- memories.
    PERFORM recollect.audit_of(p_tenant, 'add_memories', u.thread_id, p_app, u.changes, p_app, p_user)
    FROM (SELECT u.thread_id, count(*) AS changes
          FROM unnest(v_threads) AS u (thread_id) GROUP BY u.thread_id) AS u;
END;
$$;
