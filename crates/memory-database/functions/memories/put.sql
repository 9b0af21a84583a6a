-- Stores one memory of a user, or finds it by its record or its text. The caller holds
-- lock_memories, taken after lock_sources or the lock of the sources' thread. One found by its text
-- keeps its values; without a kind it gets that of the item, with the attributes.
--
-- p_item has id, record, text, words, hash (hexadecimal), type, topics, entities, metadata,
-- kind, attributes, event (microseconds since 1970, or null), sources and pinned. `listed` may be
-- the id of a memory that a caller has read and sends back: it is changed, keeps its record,
-- metadata and kind where the item has none, and stays as it is if it was superseded and has the
-- same text.
-- p_scope has the lexemes of the user and of the app, separated by a space.
CREATE OR REPLACE FUNCTION recollect.put_memory(
    p_tenant text, p_app text, p_user text, p_scope text, p_item jsonb, p_origin text, p_thread uuid,
    p_made_by text, p_strategy text,
    -- The revision for the index; null: nothing changed.
    OUT created boolean, OUT revision bigint, OUT memory recollect.memories
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_record text;
    v_hash bytea := decode(p_item ->> 'hash', 'hex');
    v_sources uuid[] := recollect.json_to_texts(p_item -> 'sources')::uuid[];
    v_topics text[] := recollect.json_to_texts(p_item -> 'topics');
    v_entities text[] := recollect.json_to_texts(p_item -> 'entities');
    v_event timestamptz := recollect.time_from_micros((p_item ->> 'event')::bigint);
    v_words tsvector := recollect.lexemes(p_item ->> 'words')
        || recollect.lexemes(p_scope);
    v_thread uuid := COALESCE(p_thread, (
        SELECT m.thread_id FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = v_sources[1]));
    v_metadata jsonb;
    v_kind text;
    v_attributes jsonb;
    v_listed recollect.memories;
    v_known recollect.memories;
    v_same recollect.memories;
    -- Whether the text of a known record changes.
    v_changed boolean := false;
    -- Whether a caller puts a known text that was extracted, and whether one without a kind gets one.
    v_adopts boolean;
    v_gains_kind boolean;
BEGIN
    -- Again where another call erases the found memory meanwhile.
    LOOP
        created := false;
        v_changed := false;
        v_record := p_item ->> 'record';
        v_metadata := (p_item ->> 'metadata')::jsonb;
        v_kind := p_item ->> 'kind';
        v_attributes := (p_item ->> 'attributes')::jsonb;
        SELECT m.* INTO v_listed FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user
            AND m.memory_id = (p_item ->> 'listed')::uuid;
        IF v_listed.valid_until IS NOT NULL THEN
            IF v_listed.content_hash = v_hash THEN
                memory := v_listed;
                RETURN;
            END IF;
            v_listed := NULL;
        ELSIF v_listed.memory_id IS NOT NULL THEN
            v_record := COALESCE(NULLIF(v_record, ''), v_listed.external_id);
            v_metadata := COALESCE(NULLIF(v_metadata, '{}'), v_listed.metadata);
            IF v_kind = '' THEN
                v_kind := v_listed.kind;
                v_attributes := v_listed.attributes;
            END IF;
        END IF;
        v_known := NULL;
        IF v_record <> '' THEN
            SELECT m.* INTO v_known FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.external_id = v_record
                AND m.valid_until IS NULL;
        END IF;
        v_known := CASE WHEN v_known.memory_id IS NULL THEN v_listed ELSE v_known END;
        SELECT m.* INTO v_same FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.content_hash = v_hash
            AND m.valid_until IS NULL;

        IF v_known.memory_id IS NOT NULL AND v_same.memory_id IS DISTINCT FROM v_known.memory_id
            AND v_same.memory_id IS NOT NULL
        THEN
            -- Another memory has the record's new text.
            UPDATE recollect.memories
            SET valid_until = GREATEST(valid_from, v_same.valid_from), ended_at = clock_timestamp(),
                superseded_by = v_same.memory_id, version = version + 1, updated_at = clock_timestamp()
            WHERE tenant_id = p_tenant AND memory_id = v_known.memory_id;
            revision := recollect.enqueue_memory(p_tenant, p_app, p_user, v_known.memory_id, 'upsert');
            v_known := NULL;
        END IF;
        IF v_record <> '' AND v_known.memory_id IS NULL AND v_same.external_id = '' THEN
            -- The known memory gets the record.
            v_known := v_same;
        END IF;

        IF v_known.memory_id IS NOT NULL THEN
            memory := v_known;
            v_changed := v_known.content_hash <> v_hash;
            IF (v_known.external_id, v_known.text, v_known.type, v_known.topics, v_known.entities, v_known.metadata,
                    v_known.kind, v_known.attributes, v_known.pinned)
                    IS DISTINCT FROM
                    (v_record, p_item ->> 'text', p_item ->> 'type', v_topics, v_entities, v_metadata,
                     v_kind, v_attributes, (p_item ->> 'pinned')::boolean)
                OR v_known.event_time IS DISTINCT FROM v_event
                OR (v_known.origin = 'extracted' AND p_origin <> 'extracted')
            THEN
                UPDATE recollect.memories
                SET text = p_item ->> 'text', words = v_words, content_hash = v_hash, type = p_item ->> 'type',
                    topics = v_topics, entities = v_entities, metadata = v_metadata, kind = v_kind,
                    attributes = v_attributes, event_time = v_event,
                    external_id = v_record, pinned = (p_item ->> 'pinned')::boolean,
                    thread_id = CASE WHEN v_changed THEN COALESCE(v_thread, thread_id) ELSE thread_id END,
                    valid_from = CASE WHEN v_changed THEN recollect.first_said_at(p_tenant, v_sources) ELSE valid_from END,
                    origin = CASE WHEN origin = 'extracted' THEN p_origin ELSE origin END,
                    strategy = CASE WHEN p_origin = 'extracted' THEN strategy ELSE '' END,
                    version = version + 1, persisted_at = NULL, updated_at = clock_timestamp()
                WHERE tenant_id = p_tenant AND memory_id = v_known.memory_id
                RETURNING * INTO memory;
                revision := recollect.enqueue_memory(p_tenant, p_app, p_user, v_known.memory_id, 'upsert');
            END IF;
        ELSIF v_same.memory_id IS NOT NULL THEN
            memory := v_same;
            -- A memory that a caller has put stays when its sources are
            -- erased.
            v_adopts := v_same.origin = 'extracted' AND p_origin <> 'extracted';
            -- Otherwise a kind that is added to a policy would never reach what is known.
            v_gains_kind := v_same.kind = '' AND v_kind <> '';
            IF v_adopts OR v_gains_kind THEN
                UPDATE recollect.memories
                SET origin = CASE WHEN v_adopts THEN p_origin ELSE origin END,
                    strategy = CASE WHEN v_adopts THEN '' ELSE strategy END,
                    kind = CASE WHEN v_gains_kind THEN v_kind ELSE kind END,
                    attributes = CASE WHEN v_gains_kind THEN v_attributes ELSE attributes END,
                    persisted_at = CASE WHEN v_gains_kind THEN NULL ELSE persisted_at END,
                    version = version + 1, updated_at = clock_timestamp()
                WHERE tenant_id = p_tenant AND memory_id = v_same.memory_id
                RETURNING * INTO memory;
                revision := recollect.enqueue_memory(p_tenant, p_app, p_user, v_same.memory_id, 'upsert');
            END IF;
        ELSE
            created := true;
            INSERT INTO recollect.memories
                (tenant_id, memory_id, app_id, user_id, text, words, type, topics, entities, metadata, kind, attributes,
                 event_time, origin, external_id, thread_id, content_hash, pinned, valid_from, made_by, strategy,
                 created_at, updated_at)
            SELECT p_tenant, (p_item ->> 'id')::uuid, p_app, p_user, p_item ->> 'text', v_words, p_item ->> 'type',
                v_topics, v_entities, v_metadata, v_kind, v_attributes, v_event, p_origin, v_record, v_thread,
                v_hash, (p_item ->> 'pinned')::boolean,
                -- Not a moment after now.
                LEAST(recollect.first_said_at(p_tenant, v_sources), now), p_made_by, p_strategy, now, now
            FROM (SELECT clock_timestamp() AS now) AS clock
            RETURNING * INTO memory;
            revision := recollect.enqueue_memory(p_tenant, p_app, p_user, memory.memory_id, 'upsert');
        END IF;
        EXIT WHEN memory.memory_id IS NOT NULL;
    END LOOP;

    IF v_changed AND cardinality(v_sources) > 0 THEN
        -- They prove the former text.
        DELETE FROM recollect.memory_sources s WHERE s.tenant_id = p_tenant AND s.memory_id = memory.memory_id;
    END IF;
    -- More sources for a known memory; a caller's memory keeps the caller's sources.
    IF created OR p_origin = 'extracted' AND memory.origin = 'extracted' OR v_known.memory_id IS NOT NULL THEN
        PERFORM recollect.add_sources(p_tenant, memory.memory_id, v_sources);
    END IF;
END;
$$;
