-- Stores memories of one user with their ids, times and links: all or none. A memory
-- that exists already, by its id, or by its text or its record where it holds, stays as
-- it is.
--
-- An element of p_items is what put_memory takes, with origin, thread, made_by, strategy
-- and superseded_by, and with valid_from, valid_until, ended, created and used in microseconds
-- since 1970, and with built_on, the ids of memories that may be imported later. thread,
-- superseded_by and used may be null, and so may be valid_until and ended together.
CREATE OR REPLACE FUNCTION recollect.import_memories(
    p_tenant text, p_actor text, p_app text, p_user text, p_scope text, p_items jsonb
)
RETURNS TABLE (
    created boolean,
    -- How many sources are not messages of the app and user in this database.
    missing integer, revision bigint, memory recollect.memories, sources uuid[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_item jsonb;
    v_record text;
    v_hash bytea;
    v_sources uuid[];
    v_stored bigint := 0;
    v_id uuid;
    -- Memories that hold in place of given ones, by the ids of the given ones.
    v_kept jsonb := '{}';
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
    PERFORM recollect.lock_sources(p_tenant, p_items);
    PERFORM recollect.lock_memories(p_tenant, p_app, p_user);
    FOR v_item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place LOOP
        v_record := v_item ->> 'record';
        v_hash := decode(v_item ->> 'hash', 'hex');
        SELECT COALESCE(array_agg(m.message_id ORDER BY s.place), '{}') INTO v_sources
        FROM jsonb_array_elements_text(v_item -> 'sources') WITH ORDINALITY AS s (id, place)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
        JOIN recollect.threads t
            ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id AND t.app_id = p_app
            AND (t.user_id = p_user OR p_user <> '' AND m.said_by = p_user)
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
        missing := jsonb_array_length(v_item -> 'sources') - cardinality(v_sources);
        revision := NULL;
        v_id := recollect.imported_id(p_tenant, p_app, p_user, (v_item ->> 'id')::uuid);
        SELECT m.* INTO memory FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = v_id;
        created := NOT FOUND;
        IF created AND v_item ->> 'valid_until' IS NULL THEN
            SELECT m.* INTO memory FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.valid_until IS NULL
                AND (m.content_hash = v_hash OR (v_record <> '' AND m.external_id = v_record))
            ORDER BY m.content_hash = v_hash DESC
            LIMIT 1;
            created := NOT FOUND;
        END IF;
        IF created THEN
            INSERT INTO recollect.memories
                (tenant_id, memory_id, app_id, user_id, text, words, type, topics, entities, metadata, kind, attributes,
                 event_time, origin, external_id, thread_id, content_hash, pinned, valid_from, valid_until, ended_at,
                 superseded_by, made_by, strategy, last_used_on, created_at, updated_at)
            SELECT p_tenant, v_id, p_app, p_user, v_item ->> 'text',
                recollect.lexemes(v_item ->> 'words') || recollect.lexemes(p_scope),
                v_item ->> 'type', recollect.json_to_texts(v_item -> 'topics'), recollect.json_to_texts(v_item -> 'entities'),
                (v_item ->> 'metadata')::jsonb, v_item ->> 'kind', (v_item ->> 'attributes')::jsonb,
                recollect.time_from_micros((v_item ->> 'event')::bigint), v_item ->> 'origin', v_record,
                (SELECT t.thread_id FROM recollect.threads t
                 WHERE t.tenant_id = p_tenant AND t.thread_id = (v_item ->> 'thread')::uuid
                     AND t.app_id = p_app
                     -- Or a thread in which the user said a source.
                     AND (t.user_id = p_user OR EXISTS (
                        SELECT FROM recollect.messages m
                        WHERE m.tenant_id = p_tenant AND m.message_id = ANY (v_sources)
                            AND m.thread_id = t.thread_id))),
                v_hash, (v_item ->> 'pinned')::boolean, recollect.time_from_micros((v_item ->> 'valid_from')::bigint),
                recollect.time_from_micros((v_item ->> 'valid_until')::bigint),
                recollect.time_from_micros((v_item ->> 'ended')::bigint),
                NULLIF(recollect.imported_id(p_tenant, p_app, p_user, (v_item ->> 'superseded_by')::uuid), v_id),
                v_item ->> 'made_by', v_item ->> 'strategy',
                (recollect.time_from_micros((v_item ->> 'used')::bigint) AT TIME ZONE 'UTC')::date,
                recollect.time_from_micros((v_item ->> 'created')::bigint), clock_timestamp()
            RETURNING * INTO memory;
            PERFORM recollect.add_sources(p_tenant, memory.memory_id, v_sources);
            -- The row that an earlier import left when it kept another memory instead of this one.
            DELETE FROM recollect.memory_ancestors a
            WHERE a.tenant_id = p_tenant AND a.memory_id = memory.memory_id;
            INSERT INTO recollect.memory_ancestors (tenant_id, memory_id, ancestor_id)
            SELECT DISTINCT p_tenant, memory.memory_id, basis.memory_id
            FROM (
                SELECT COALESCE(
                    (v_kept ->> b.id)::uuid, recollect.imported_id(p_tenant, p_app, p_user, b.id::uuid)) AS memory_id
                FROM jsonb_array_elements_text(v_item -> 'built_on') AS b (id)
            ) AS basis
            WHERE memory.origin = 'extracted' AND basis.memory_id <> memory.memory_id
            ON CONFLICT DO NOTHING;
            revision := recollect.enqueue_memory(p_tenant, p_app, p_user, memory.memory_id, 'upsert', true);
            v_stored := v_stored + 1;
        ELSIF memory.persisted_at IS NULL THEN
            revision := recollect.queued_revision(
                p_tenant, memory.app_id, memory.user_id, ARRAY[memory.memory_id]);
        END IF;
        IF memory.memory_id <> v_id THEN
            v_kept := v_kept || jsonb_build_object(v_item ->> 'id', memory.memory_id);
            -- For what other calls say was built on it: an id that no memory has, built on the
            -- memory that holds in its place.
            INSERT INTO recollect.memory_ancestors (tenant_id, memory_id, ancestor_id)
            VALUES (p_tenant, v_id, memory.memory_id)
            ON CONFLICT DO NOTHING;
        END IF;
        sources := recollect.sources_of(p_tenant, memory.memory_id);
        RETURN NEXT;
    END LOOP;
    PERFORM recollect.place_summaries(p_tenant, summary.thread)
    FROM (
        SELECT DISTINCT (i.value ->> 'thread')::uuid AS thread
        FROM jsonb_array_elements(p_items) AS i (value)
        WHERE i.value ->> 'strategy' = 'summary'
    ) AS summary;
    IF v_stored > 0 THEN
        PERFORM recollect.check_memory_count(p_tenant, p_app, p_user, p_items -> 0);
        PERFORM recollect.audit_of(p_tenant, 'import_memories', NULL, p_app, v_stored, p_app, p_user);
    END IF;
END;
$$;
