-- Long-term memories: what is worth knowing of a user beyond one session.
CREATE TABLE recollect.memories (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    app_id text NOT NULL,
    -- Empty: it belongs to the app, and to no user.
    user_id text NOT NULL,
    text text NOT NULL,
    -- Of text, topics and entities, with the lexeme of app and user.
    words tsvector NOT NULL,
    type text NOT NULL CHECK (type IN ('semantic', 'episodic')),
    topics text[] NOT NULL,
    entities text[] NOT NULL,
    event_time timestamptz,
    origin text NOT NULL CHECK (origin IN ('caller', 'working_memory', 'extracted')),
    -- The caller's own id; empty: none.
    record_id text NOT NULL,
    -- The thread that it came from.
    thread_id uuid,
    -- SHA-256 of the normalized text.
    content_hash bytea NOT NULL,
    pinned boolean NOT NULL,
    valid_from timestamptz NOT NULL,
    -- When another one took its place; null: it holds.
    valid_until timestamptz,
    superseded_by uuid,
    -- What extracted it; empty: nothing did.
    made_by text NOT NULL,
    -- By which strategy; empty: it was not extracted, or nobody knows.
    strategy text NOT NULL CHECK (strategy IN ('', 'discrete', 'summary', 'preferences', 'custom')),
    -- Rises with each change.
    version bigint NOT NULL DEFAULT 1,
    -- When the index had learnt it as it is.
    persisted_at timestamptz,
    -- The day (UTC) on which it was last returned.
    last_used_on date,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, memory_id),
    CHECK (strategy = '' OR origin = 'extracted')
) WITH (fillfactor = 80);

CREATE INDEX memories_by_owner ON recollect.memories (tenant_id, app_id, user_id, ordinal);
CREATE INDEX memories_by_ordinal ON recollect.memories (tenant_id, ordinal);
-- Among those that hold, a user has each text and each record once.
CREATE UNIQUE INDEX memories_by_content ON recollect.memories (tenant_id, app_id, user_id, content_hash)
    WHERE valid_until IS NULL;
CREATE UNIQUE INDEX memories_by_record ON recollect.memories (tenant_id, app_id, user_id, record_id)
    WHERE valid_until IS NULL AND record_id <> '';
CREATE INDEX memories_by_successor ON recollect.memories (tenant_id, superseded_by)
    WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_by_thread ON recollect.memories (tenant_id, thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX memories_by_words ON recollect.memories USING gin (words);

-- The messages that memories were made of, as long as these can be read.
CREATE TABLE recollect.memory_sources (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    message_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    -- The order in which they were named.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (tenant_id, memory_id, message_id)
);

CREATE INDEX memory_sources_by_message ON recollect.memory_sources (tenant_id, thread_id, message_id);

-- What the index has to learn may be about a memory: message_id has its id then,
-- and thread_id is the queue of its user (memory_queue).
ALTER TABLE recollect.outbox
    ADD COLUMN kind text NOT NULL DEFAULT 'message' CHECK (kind IN ('message', 'memory'));

SELECT recollect.isolate('memories', 'memory_sources');
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.memories, recollect.memory_sources TO recollect_service;

-- Workers see which apps have memories, and none of them.
CREATE POLICY worker ON recollect.memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, app_id) ON recollect.memories TO recollect_worker;

-- Lets whoever writes memories of one user wait for each other. So nothing is
-- stored twice, and two that change several rows cannot wait in a circle.
CREATE FUNCTION recollect.lock_memories(p_tenant text, p_app text, p_user text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(
        'memories' || chr(1) || p_tenant || chr(1) || p_app || chr(1) || p_user, 0));
END;
$$;

-- The elements of a JSON list of texts, in order.
CREATE FUNCTION recollect.texts_of(p_list jsonb)
RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT e.value FROM jsonb_array_elements_text(p_list) WITH ORDINALITY AS e (value, place)
                 ORDER BY e.place)
$$;

-- A time from microseconds since 1970, exactly: more than 53 bits of them would be
-- rounded.
CREATE FUNCTION recollect.time_of(p_micros bigint)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamptz 'epoch' + (p_micros / 1000000) * interval '1 second'
        + (p_micros % 1000000) * interval '1 microsecond'
$$;

-- The messages that a memory was made of.
CREATE FUNCTION recollect.sources_of(p_tenant text, p_memory uuid)
RETURNS uuid[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT s.message_id FROM recollect.memory_sources s
                 WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory
                 ORDER BY s.ordinal)
$$;

-- Names the queue in which a user's memories wait for the index, as a thread's id
-- names that of its messages. So nobody waits for another user's.
CREATE FUNCTION recollect.memory_queue(p_tenant text, p_app text, p_user text)
RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT md5('memories' || chr(1) || p_tenant || chr(1) || p_app || chr(1) || p_user)::uuid
$$;

-- Tells the index of a memory.
CREATE FUNCTION recollect.queue_memory(p_tenant text, p_app text, p_user text, p_memory uuid, p_op text)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint;
BEGIN
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, kind)
    VALUES (p_tenant, recollect.memory_queue(p_tenant, p_app, p_user), p_memory, 0, p_op, 'memory')
    RETURNING id INTO v_revision;
    RETURN v_revision;
END;
$$;

-- The last change of memories of a user that the index has yet to learn; null:
-- none. A retry waits for what the first try has queued.
CREATE FUNCTION recollect.queued_revision(p_tenant text, p_app text, p_user text, p_memories uuid[])
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT max(o.id) FROM recollect.outbox o
        WHERE o.tenant_id = p_tenant AND o.thread_id = recollect.memory_queue(p_tenant, p_app, p_user)
            AND o.message_id = ANY (p_memories) AND o.kind = 'memory');
END;
$$;

-- Erases memories with their index entries. A chain of memories that superseded
-- each other closes over those that go. The caller holds lock_memories of whose
-- they are.
CREATE FUNCTION recollect.erase_memories(
    p_tenant text, p_memories uuid[],
    -- One user's queue, and the last change in it.
    OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- In the order in which the indexer stamps them, so that neither waits for the
    -- other.
    PERFORM FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND (m.memory_id = ANY (p_memories) OR m.superseded_by = ANY (p_memories))
    ORDER BY m.memory_id
    FOR UPDATE;
    WITH RECURSIVE chain (memory_id, superseded_by) AS (
        SELECT m.memory_id, m.superseded_by FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.superseded_by = ANY (p_memories) AND m.memory_id <> ALL (p_memories)
        UNION
        SELECT chain.memory_id, m.superseded_by
        FROM chain
        JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = chain.superseded_by
        WHERE chain.superseded_by = ANY (p_memories)
    )
    UPDATE recollect.memories m
    SET superseded_by = chain.superseded_by
    FROM chain
    WHERE m.tenant_id = p_tenant AND m.memory_id = chain.memory_id
        -- The first one that stays, or none.
        AND (chain.superseded_by = ANY (p_memories)) IS NOT TRUE;
    DELETE FROM recollect.memory_sources s WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (p_memories);
    WITH gone AS (
        DELETE FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (p_memories)
        RETURNING m.memory_id, recollect.memory_queue(p_tenant, m.app_id, m.user_id) AS queue
    ),
    unqueued AS (
        -- Not what a worker has claimed: if it dies, its replay finds the memory
        -- gone.
        DELETE FROM recollect.outbox o
        USING gone
        WHERE o.tenant_id = p_tenant AND o.thread_id = gone.queue AND o.message_id = gone.memory_id
            AND o.kind = 'memory' AND o.lease_id IS NULL
    ),
    queued AS (
        INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, kind)
        SELECT p_tenant, gone.queue, gone.memory_id, 0, 'delete', 'memory' FROM gone
        RETURNING thread_id, id
    )
    SELECT queued.thread_id, queued.id INTO queue, revision
    FROM queued
    ORDER BY queued.id DESC
    LIMIT 1;
END;
$$;

-- Lets imported messages of a thread be summed up, because a summary that came with
-- them is gone.
CREATE FUNCTION recollect.learn_from_imported(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.messages SET imported = false
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND imported;
END;
$$;

-- Erases what a message, or without one a whole thread, has proved: a memory that
-- was extracted goes with its last source, unless it is pinned. What sums a thread
-- up goes with the first of its messages: its words may be in it.
CREATE FUNCTION recollect.forget_sources(p_tenant text, p_thread uuid, p_message uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_memories uuid[];
    v_summed_up boolean;
    v_imported boolean;
BEGIN
    -- Sources are of their memory's app and user.
    PERFORM recollect.lock_memories(p_tenant, t.app_id, t.user_id)
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    v_imported := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        JOIN recollect.memory_sources s ON s.tenant_id = p_tenant AND s.memory_id = m.memory_id
        JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id AND x.imported
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND s.thread_id = p_thread);
    WITH gone AS (
        DELETE FROM recollect.memory_sources s
        WHERE s.tenant_id = p_tenant AND s.thread_id = p_thread
            AND (p_message IS NULL OR s.message_id = p_message)
        RETURNING s.memory_id
    )
    SELECT array_agg(DISTINCT gone.memory_id) INTO v_memories FROM gone;
    SELECT array_agg(lost.memory_id) INTO v_memories
    FROM (
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.origin = 'extracted' AND NOT m.pinned
            AND NOT EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.memory_id = m.memory_id)
        UNION
        SELECT m.memory_id
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.origin = 'extracted' AND NOT m.pinned
    ) AS lost;
    IF v_memories IS NULL THEN
        RETURN;
    END IF;
    v_summed_up := p_message IS NOT NULL AND EXISTS (
        SELECT FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories) AND m.thread_id = p_thread
            AND m.strategy = 'summary' AND m.valid_until IS NULL)
        -- Another strategy has nothing to make anew.
        AND EXISTS (
            SELECT FROM recollect.threads t
            LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
                AND COALESCE(t.policy ->> 'extraction', p.policy ->> 'extraction') = 'summary');
    PERFORM recollect.erase_memories(p_tenant, v_memories);
    PERFORM recollect.note(p_tenant, 'forget_memories', p_thread, '', cardinality(v_memories));
    -- What is left is summed up anew, from the first message on.
    IF v_summed_up THEN
        UPDATE recollect.branches SET extract_seq = 0
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND extract_seq > 0;
        IF v_imported THEN
            PERFORM recollect.learn_from_imported(p_tenant, p_thread);
        END IF;
        PERFORM recollect.want_distill(p_tenant, p_thread);
    END IF;
END;
$$;

-- Notes messages as sources of a memory, and keeps the 32 that were noted last.
CREATE FUNCTION recollect.add_sources(p_tenant text, p_memory uuid, p_sources uuid[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO recollect.memory_sources (tenant_id, memory_id, message_id, thread_id)
    SELECT p_tenant, p_memory, m.message_id, m.thread_id
    FROM unnest(p_sources) WITH ORDINALITY AS u (id, place)
    JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = u.id
    ORDER BY u.place
    ON CONFLICT DO NOTHING;
    DELETE FROM recollect.memory_sources s
    WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory
        AND s.ordinal <= (
            SELECT l.ordinal FROM recollect.memory_sources l
            WHERE l.tenant_id = p_tenant AND l.memory_id = p_memory
            ORDER BY l.ordinal DESC
            OFFSET 32 LIMIT 1);
END;
$$;

-- When something that messages prove began to hold: when it was first said.
CREATE FUNCTION recollect.held_since(p_tenant text, p_sources uuid[])
RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN COALESCE(
        (SELECT min(m.said_at) FROM recollect.messages m
         WHERE m.tenant_id = p_tenant AND m.message_id = ANY (p_sources)),
        clock_timestamp());
END;
$$;

-- Stores one memory of a user, or finds it by its record or its text. The caller
-- holds lock_memories.
--
-- p_item has id, record, text, words, hash (hexadecimal), type, topics, entities,
-- event (microseconds since 1970, or null), sources and pinned.
CREATE FUNCTION recollect.put_memory(
    p_tenant text, p_app text, p_user text, p_scope text, p_item jsonb, p_origin text, p_thread uuid,
    p_made_by text, p_strategy text,
    -- The number of the change for the index; null: nothing changed.
    OUT created boolean, OUT revision bigint, OUT memory recollect.memories
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_record text := p_item ->> 'record';
    v_hash bytea := decode(p_item ->> 'hash', 'hex');
    v_sources uuid[] := recollect.texts_of(p_item -> 'sources')::uuid[];
    v_topics text[] := recollect.texts_of(p_item -> 'topics');
    v_entities text[] := recollect.texts_of(p_item -> 'entities');
    v_event timestamptz := recollect.time_of((p_item ->> 'event')::bigint);
    v_words tsvector := strip(to_tsvector('pg_catalog.english', p_item ->> 'words'))
        || array_to_tsvector(ARRAY[p_scope]);
    v_thread uuid := COALESCE(p_thread, (
        SELECT m.thread_id FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = v_sources[1]));
    v_known recollect.memories;
    v_same recollect.memories;
    -- Whether the record says something else now.
    v_anew boolean := false;
BEGIN
    -- Again where somebody erases meanwhile what was found.
    LOOP
        created := false;
        v_anew := false;
        v_known := NULL;
        IF v_record <> '' THEN
            SELECT m.* INTO v_known FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.record_id = v_record
                AND m.valid_until IS NULL;
        END IF;
        SELECT m.* INTO v_same FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.content_hash = v_hash
            AND m.valid_until IS NULL;

        IF v_known.memory_id IS NOT NULL AND v_same.memory_id IS DISTINCT FROM v_known.memory_id
            AND v_same.memory_id IS NOT NULL
        THEN
            -- What the record says now is known under another one.
            UPDATE recollect.memories
            SET valid_until = clock_timestamp(), superseded_by = v_same.memory_id, version = version + 1,
                updated_at = clock_timestamp()
            WHERE tenant_id = p_tenant AND memory_id = v_known.memory_id;
            revision := recollect.queue_memory(p_tenant, p_app, p_user, v_known.memory_id, 'upsert');
            v_known := NULL;
        END IF;
        IF v_record <> '' AND v_known.memory_id IS NULL AND v_same.record_id = '' THEN
            -- What is known becomes the record's.
            v_known := v_same;
        END IF;

        IF v_known.memory_id IS NOT NULL THEN
            memory := v_known;
            v_anew := v_known.content_hash <> v_hash;
            IF (v_known.record_id, v_known.text, v_known.type, v_known.topics, v_known.entities, v_known.pinned)
                    IS DISTINCT FROM
                    (v_record, p_item ->> 'text', p_item ->> 'type', v_topics, v_entities,
                     (p_item ->> 'pinned')::boolean)
                OR v_known.event_time IS DISTINCT FROM v_event
                OR (v_known.origin = 'extracted' AND p_origin <> 'extracted')
            THEN
                UPDATE recollect.memories
                SET text = p_item ->> 'text', words = v_words, content_hash = v_hash, type = p_item ->> 'type',
                    topics = v_topics, entities = v_entities, event_time = v_event, record_id = v_record,
                    pinned = (p_item ->> 'pinned')::boolean,
                    thread_id = CASE WHEN v_anew THEN COALESCE(v_thread, thread_id) ELSE thread_id END,
                    valid_from = CASE WHEN v_anew THEN recollect.held_since(p_tenant, v_sources) ELSE valid_from END,
                    origin = CASE WHEN origin = 'extracted' THEN p_origin ELSE origin END,
                    strategy = CASE WHEN p_origin = 'extracted' THEN strategy ELSE '' END,
                    version = version + 1, persisted_at = NULL, updated_at = clock_timestamp()
                WHERE tenant_id = p_tenant AND memory_id = v_known.memory_id
                RETURNING * INTO memory;
                revision := recollect.queue_memory(p_tenant, p_app, p_user, v_known.memory_id, 'upsert');
            END IF;
        ELSIF v_same.memory_id IS NOT NULL THEN
            memory := v_same;
            -- What a caller has put stays also when the sources go.
            IF v_same.origin = 'extracted' AND p_origin <> 'extracted' THEN
                UPDATE recollect.memories
                SET origin = p_origin, strategy = '', version = version + 1, updated_at = clock_timestamp()
                WHERE tenant_id = p_tenant AND memory_id = v_same.memory_id
                RETURNING * INTO memory;
                revision := recollect.queue_memory(p_tenant, p_app, p_user, v_same.memory_id, 'upsert');
            END IF;
        ELSE
            created := true;
            INSERT INTO recollect.memories
                (tenant_id, memory_id, app_id, user_id, text, words, type, topics, entities, event_time, origin,
                 record_id, thread_id, content_hash, pinned, valid_from, made_by, strategy)
            SELECT p_tenant, (p_item ->> 'id')::uuid, p_app, p_user, p_item ->> 'text', v_words, p_item ->> 'type',
                v_topics, v_entities, v_event, p_origin, v_record,
                v_thread, v_hash, (p_item ->> 'pinned')::boolean,
                recollect.held_since(p_tenant, v_sources), p_made_by, p_strategy
            RETURNING * INTO memory;
            revision := recollect.queue_memory(p_tenant, p_app, p_user, memory.memory_id, 'upsert');
        END IF;
        EXIT WHEN memory.memory_id IS NOT NULL;
    END LOOP;

    IF v_anew AND cardinality(v_sources) > 0 THEN
        -- They prove what it said before.
        DELETE FROM recollect.memory_sources s WHERE s.tenant_id = p_tenant AND s.memory_id = memory.memory_id;
    END IF;
    -- More proof for what is known. What a caller has put keeps the caller's.
    IF created OR p_origin = 'extracted' AND memory.origin = 'extracted' OR v_known.memory_id IS NOT NULL THEN
        PERFORM recollect.add_sources(p_tenant, memory.memory_id, v_sources);
    END IF;
END;
$$;

-- Ends the validity of memories of a user that another one takes the place of,
-- and returns which did. What began to hold after p_since stays: it is newer.
CREATE FUNCTION recollect.end_memories(
    p_tenant text, p_app text, p_user text, p_memories uuid[], p_by uuid, p_pinned_too boolean,
    p_since timestamptz DEFAULT 'infinity'
)
RETURNS SETOF recollect.memories
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE recollect.memories m
    SET valid_until = clock_timestamp(), superseded_by = p_by, version = version + 1,
        updated_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (p_memories) AND m.app_id = p_app AND m.user_id = p_user
        AND m.valid_until IS NULL AND m.memory_id IS DISTINCT FROM p_by AND (p_pinned_too OR NOT m.pinned)
        AND m.valid_from <= p_since
    RETURNING m.*;
END;
$$;

-- Stores memories of one user: all or none.
CREATE FUNCTION recollect.add_memories(
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
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memories(p_tenant, p_app, p_user);
    SELECT i.place - 1, s.place - 1 INTO item, source
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place)
    CROSS JOIN LATERAL jsonb_array_elements_text(i.value -> 'sources') WITH ORDINALITY AS s (id, place)
    WHERE NOT EXISTS (
        SELECT FROM recollect.messages m
        JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id
        WHERE m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
            AND t.app_id = p_app AND t.user_id = p_user
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()))
    ORDER BY 1, 2
    LIMIT 1;
    IF FOUND THEN
        status := 'source_not_found';
        RETURN NEXT;
        RETURN;
    END IF;

    status := 'ok';
    FOR v_item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place LOOP
        SELECT * INTO v_put
        FROM recollect.put_memory(p_tenant, p_app, p_user, p_scope, v_item, p_origin, p_thread, '', '') AS p;
        created := v_put.created;
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
    -- Whoever watches a thread learns of what came from it.
    PERFORM recollect.note(p_tenant, 'add_memories', u.thread_id, p_app, u.changes)
    FROM (SELECT u.thread_id, count(*) AS changes
          FROM unnest(v_threads) AS u (thread_id) GROUP BY u.thread_id) AS u;
END;
$$;

-- Stores memories of one user as they were elsewhere, with their ids, times and
-- links: all or none. What is there already, by its id, or by its text or its
-- record where it holds, stays as it is.
--
-- An element of p_items is that of put_memory, with origin, thread, made_by, strategy
-- and superseded_by, and valid_from, valid_until, created and used in microseconds
-- since 1970; the latter and those that end in by, until and thread may be null.
CREATE FUNCTION recollect.import_memories(
    p_tenant text, p_actor text, p_app text, p_user text, p_scope text, p_items jsonb
)
RETURNS TABLE (
    created boolean,
    -- Sources that are no messages of the app and user here.
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
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memories(p_tenant, p_app, p_user);
    FOR v_item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place LOOP
        v_record := v_item ->> 'record';
        v_hash := decode(v_item ->> 'hash', 'hex');
        SELECT COALESCE(array_agg(m.message_id ORDER BY s.place), '{}') INTO v_sources
        FROM jsonb_array_elements_text(v_item -> 'sources') WITH ORDINALITY AS s (id, place)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
        JOIN recollect.threads t
            ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id AND t.app_id = p_app AND t.user_id = p_user
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
        missing := jsonb_array_length(v_item -> 'sources') - cardinality(v_sources);
        revision := NULL;
        SELECT m.* INTO memory FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = (v_item ->> 'id')::uuid;
        created := NOT FOUND;
        v_id := (v_item ->> 'id')::uuid;
        IF NOT created AND (memory.app_id, memory.user_id) <> (p_app, p_user) THEN
            -- Somebody else's has this id, and is none of this user's business.
            created := true;
            v_id := gen_random_uuid();
        END IF;
        IF created AND v_item ->> 'valid_until' IS NULL THEN
            SELECT m.* INTO memory FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user AND m.valid_until IS NULL
                AND (m.content_hash = v_hash OR (v_record <> '' AND m.record_id = v_record))
            ORDER BY m.content_hash = v_hash DESC
            LIMIT 1;
            created := NOT FOUND;
        END IF;
        IF created THEN
            INSERT INTO recollect.memories
                (tenant_id, memory_id, app_id, user_id, text, words, type, topics, entities, event_time, origin,
                 record_id, thread_id, content_hash, pinned, valid_from, valid_until, superseded_by, made_by,
                 strategy, last_used_on, created_at, updated_at)
            SELECT p_tenant, v_id, p_app, p_user, v_item ->> 'text',
                strip(to_tsvector('pg_catalog.english', v_item ->> 'words')) || array_to_tsvector(ARRAY[p_scope]),
                v_item ->> 'type', recollect.texts_of(v_item -> 'topics'), recollect.texts_of(v_item -> 'entities'),
                recollect.time_of((v_item ->> 'event')::bigint), v_item ->> 'origin', v_record,
                (SELECT t.thread_id FROM recollect.threads t
                 WHERE t.tenant_id = p_tenant AND t.thread_id = (v_item ->> 'thread')::uuid
                     AND t.app_id = p_app AND t.user_id = p_user),
                v_hash, (v_item ->> 'pinned')::boolean, recollect.time_of((v_item ->> 'valid_from')::bigint),
                recollect.time_of((v_item ->> 'valid_until')::bigint),
                (SELECT by.id FROM (SELECT (v_item ->> 'superseded_by')::uuid AS id) AS by
                 WHERE by.id <> v_id AND NOT EXISTS (
                     SELECT FROM recollect.memories o
                     WHERE o.tenant_id = p_tenant AND o.memory_id = by.id
                         AND (o.app_id, o.user_id) <> (p_app, p_user))),
                v_item ->> 'made_by', v_item ->> 'strategy',
                (recollect.time_of((v_item ->> 'used')::bigint) AT TIME ZONE 'UTC')::date,
                recollect.time_of((v_item ->> 'created')::bigint), clock_timestamp()
            RETURNING * INTO memory;
            PERFORM recollect.add_sources(p_tenant, memory.memory_id, v_sources);
            revision := recollect.queue_memory(p_tenant, p_app, p_user, memory.memory_id, 'upsert');
            v_stored := v_stored + 1;
        ELSIF memory.persisted_at IS NULL THEN
            revision := recollect.queued_revision(
                p_tenant, memory.app_id, memory.user_id, ARRAY[memory.memory_id]);
        END IF;
        sources := recollect.sources_of(p_tenant, memory.memory_id);
        RETURN NEXT;
    END LOOP;
    IF v_stored > 0 THEN
        PERFORM recollect.note(p_tenant, 'import_memories', NULL, p_app, v_stored);
    END IF;
END;
$$;

-- Changes a memory to the values of p_item (see put_memory), if it still has the
-- version that these were made from.
CREATE FUNCTION recollect.update_memory(
    p_tenant text, p_actor text, p_memory uuid, p_version bigint, p_scope text, p_item jsonb,
    -- ok, memory_not_found, changed (by somebody else), known (other: the memory
    -- that has the text).
    OUT status text, OUT other uuid, OUT revision bigint, OUT memory recollect.memories, OUT sources uuid[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_hash bytea := decode(p_item ->> 'hash', 'hex');
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memories(p_tenant, m.app_id, m.user_id)
    FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
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
        words = strip(to_tsvector('pg_catalog.english', p_item ->> 'words')) || array_to_tsvector(ARRAY[p_scope]),
        content_hash = v_hash, type = p_item ->> 'type', topics = recollect.texts_of(p_item -> 'topics'),
        entities = recollect.texts_of(p_item -> 'entities'),
        event_time = recollect.time_of((p_item ->> 'event')::bigint),
        pinned = (p_item ->> 'pinned')::boolean, version = version + 1, persisted_at = NULL,
        updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND memory_id = p_memory
    RETURNING * INTO memory;
    revision := recollect.queue_memory(p_tenant, memory.app_id, memory.user_id, p_memory, 'upsert');
    sources := recollect.sources_of(p_tenant, p_memory);
    PERFORM recollect.note(p_tenant, 'update_memory', memory.thread_id, p_memory::text, 1);
    status := 'ok';
END;
$$;

-- Puts a newer memory in the place of an older one. Done again, it tells the same.
CREATE FUNCTION recollect.supersede_memory(
    p_tenant text, p_actor text, p_memory uuid, p_scope text, p_item jsonb
)
-- The newer one, then the older one.
RETURNS TABLE (
    -- ok, memory_not_found, changed (another one took its place already),
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
    PERFORM recollect.lock_memories(p_tenant, m.app_id, m.user_id)
    FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
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
        SELECT s.place - 1 INTO source
        FROM jsonb_array_elements_text(p_item -> 'sources') WITH ORDINALITY AS s (id, place)
        WHERE NOT EXISTS (
            SELECT FROM recollect.messages m
            JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id
            WHERE m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
                AND t.app_id = v_old.app_id AND t.user_id = v_old.user_id
                AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()))
        ORDER BY 1
        LIMIT 1;
        IF FOUND THEN
            status := 'source_not_found';
        END IF;
    END IF;
    IF status NOT IN ('ok', 'replayed') THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF status = 'ok' THEN
        -- First, so that the newer one may have the older one's record.
        SELECT e.* INTO v_old
        FROM recollect.end_memories(p_tenant, v_old.app_id, v_old.user_id, ARRAY[p_memory], NULL, true) AS e;
        SELECT (p.memory).* INTO v_new
        FROM recollect.put_memory(p_tenant, v_old.app_id, v_old.user_id, p_scope, p_item, 'caller', NULL, '', '') AS p;
        UPDATE recollect.memories
        SET superseded_by = v_new.memory_id
        WHERE tenant_id = p_tenant AND memory_id = p_memory
        RETURNING * INTO v_old;
        revision := recollect.queue_memory(p_tenant, v_old.app_id, v_old.user_id, p_memory, 'upsert');
        PERFORM recollect.note(p_tenant, 'supersede_memory', v_old.thread_id, p_memory::text, 1);
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

-- Erases a memory.
CREATE FUNCTION recollect.delete_memory(
    p_tenant text, p_actor text, p_memory uuid, OUT deleted boolean, OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread uuid;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memories(p_tenant, m.app_id, m.user_id)
    FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
    SELECT m.thread_id INTO v_thread FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
    deleted := FOUND;
    IF deleted THEN
        SELECT e.queue, e.revision INTO queue, revision
        FROM recollect.erase_memories(p_tenant, ARRAY[p_memory]) AS e;
        PERFORM recollect.note(p_tenant, 'delete_memory', v_thread, p_memory::text, 1);
    END IF;
END;
$$;

-- Forgets memories of an app by age, by time without use and by number, those
-- used longest ago first, at most p_limit of 256 users; or only tells which. Null
-- does not bound. After those that are told comes one row without a memory, which has the
-- numbers.
CREATE FUNCTION recollect.forget_memories(
    p_tenant text, p_actor text, p_app text, p_user text, p_all_users boolean,
    p_max_age double precision, p_max_inactivity double precision, p_max_count integer,
    p_dry_run boolean, p_limit integer, p_told integer
)
RETURNS TABLE (forgotten bigint, more boolean, memory recollect.memories, sources uuid[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_full text[] := '{}';
    v_memories uuid[];
    v_users text[];
    v_told recollect.memories;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF p_max_count IS NOT NULL THEN
        SELECT COALESCE(array_agg(u.user_id), '{}') INTO v_full
        FROM (SELECT m.user_id FROM recollect.memories m
              WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND (p_all_users OR m.user_id = p_user)
              GROUP BY m.user_id
              HAVING count(*) > p_max_count) AS u;
    END IF;
    WITH own AS (
        SELECT m.memory_id, m.user_id, m.ordinal, m.pinned, m.created_at, m.valid_until IS NULL AS holds,
            -- A day's use counts to the day's end.
            COALESCE((m.last_used_on + 1)::timestamp AT TIME ZONE 'UTC', m.created_at) AS used_at
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND (p_all_users OR m.user_id = p_user)
    ),
    -- Pinned ones stay, so they take their places first; what holds no more has the
    -- last ones.
    placed AS (
        SELECT own.memory_id,
            row_number() OVER (
                PARTITION BY own.user_id
                ORDER BY own.pinned DESC, own.holds DESC, own.used_at DESC, own.ordinal DESC) AS place
        FROM own
        WHERE own.user_id = ANY (v_full)
    ),
    chosen AS (
        SELECT own.memory_id, own.user_id, row_number() OVER (ORDER BY own.used_at, own.ordinal) AS place
        FROM own
        LEFT JOIN placed ON placed.memory_id = own.memory_id
        WHERE NOT own.pinned
            AND (own.created_at < clock_timestamp() - make_interval(secs => p_max_age)
                OR own.used_at < clock_timestamp() - make_interval(secs => p_max_inactivity)
                OR placed.place > p_max_count)
        ORDER BY place
        LIMIT p_limit + 1
    ),
    -- Each is locked, and the locks of a transaction are not unbounded.
    users AS (
        SELECT chosen.user_id FROM chosen GROUP BY chosen.user_id ORDER BY min(chosen.place) LIMIT 256
    )
    SELECT array_agg(chosen.memory_id ORDER BY chosen.place) FILTER (WHERE kept.user_id IS NOT NULL),
        array_agg(DISTINCT kept.user_id), COALESCE(bool_or(kept.user_id IS NULL), false)
    INTO v_memories, v_users, more
    FROM chosen
    LEFT JOIN users AS kept ON kept.user_id = chosen.user_id;
    v_memories := COALESCE(v_memories, '{}');
    more := more OR cardinality(v_memories) > p_limit;
    v_memories := v_memories[1:p_limit];
    IF NOT p_dry_run THEN
        -- In order, so that two cannot wait in a circle.
        PERFORM recollect.lock_memories(p_tenant, p_app, u.user_id)
        FROM (SELECT u.user_id FROM unnest(v_users) AS u (user_id)
              WHERE u.user_id IS NOT NULL ORDER BY u.user_id OFFSET 0) AS u;
        -- Somebody may have pinned or erased some meanwhile.
        SELECT COALESCE(array_agg(m.memory_id ORDER BY u.place), '{}') INTO v_memories
        FROM unnest(v_memories) WITH ORDINALITY AS u (id, place)
        JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = u.id AND NOT m.pinned;
    END IF;
    forgotten := cardinality(v_memories);
    FOR v_told IN
        SELECT m.*
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories[1:p_told])
        ORDER BY array_position(v_memories, m.memory_id)
    LOOP
        memory := v_told;
        sources := recollect.sources_of(p_tenant, v_told.memory_id);
        RETURN NEXT;
    END LOOP;
    IF NOT p_dry_run AND forgotten > 0 THEN
        PERFORM recollect.erase_memories(p_tenant, v_memories);
        PERFORM recollect.note(p_tenant, 'forget_memories', NULL, p_app, forgotten);
    END IF;
    memory := NULL;
    sources := NULL;
    RETURN NEXT;
END;
$$;

-- Forgets what the app's policy does not keep; without a number in it, more than
-- p_max_count of a user.
CREATE FUNCTION recollect.forget_by_policy(
    p_tenant text, p_actor text, p_app text, p_max_count integer, p_limit integer,
    OUT forgotten bigint, OUT more boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_policy jsonb;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT p.policy INTO v_policy FROM recollect.app_policies p
    WHERE p.tenant_id = p_tenant AND p.app_id = p_app;
    SELECT f.forgotten, f.more INTO forgotten, more
    FROM recollect.forget_memories(
        p_tenant, p_actor, p_app, '', true,
        (v_policy #>> '{memory_max_age,secs}')::double precision,
        (v_policy #>> '{memory_max_inactivity,secs}')::double precision,
        COALESCE((v_policy ->> 'memory_max_count')::integer, p_max_count),
        false, p_limit, 0) AS f;
END;
$$;

-- Notes that the messages on the path to the one with seq p_to were looked at for
-- facts; whether there is, or was, such a message.
CREATE FUNCTION recollect.mark_extracted(p_tenant text, p_thread uuid, p_to bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_end record;
BEGIN
    SELECT m.branch, m.depth INTO v_end
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE recollect.branches b
    SET extract_seq = last.seq
    FROM recollect.path(p_tenant, p_thread, v_end.branch, v_end.depth) way
    CROSS JOIN LATERAL (
        SELECT m.seq
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth > way.above AND m.depth <= way.depth AND m.deleted_at IS NULL
            -- A message that was erased since may have left its place to another one.
            AND m.seq <= p_to
        ORDER BY m.depth DESC
        LIMIT 1
    ) AS last
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = way.branch
        AND b.extract_seq < last.seq;
    UPDATE recollect.threads SET extract_generation = extract_generation + 1
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    RETURN true;
END;
$$;

-- How far down the messages reach that a memory was made of, and whether one of them
-- is off a path; null where none of the thread's is known.
CREATE FUNCTION recollect.reach_of_memory(
    p_tenant text, p_thread uuid, p_memory uuid, p_branches integer[], p_depths integer[],
    OUT covered integer, OUT astray boolean
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT max(m.depth), bool_or(NOT EXISTS (
        SELECT FROM unnest(p_branches, p_depths) AS way (branch, depth)
        WHERE way.branch = m.branch AND way.depth >= m.depth))
    INTO covered, astray
    FROM recollect.memory_sources s
    JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = s.message_id
    WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory AND s.thread_id = p_thread;
END;
$$;

-- Whether a memory was made of messages that are not on the path to the one with
-- this seq, or to the head if that goes on from there.
CREATE FUNCTION recollect.is_astray(p_tenant text, p_thread uuid, p_memory uuid, p_to bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_branches integer[];
    v_depths integer[];
BEGIN
    SELECT array_agg(way.branch), array_agg(way.depth) INTO v_branches, v_depths
    FROM recollect.threads t
    CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, t.head_branch, t.head_depth) way
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF NOT EXISTS (
        SELECT FROM recollect.messages m
        JOIN unnest(v_branches, v_depths) AS way (branch, depth) ON way.branch = m.branch AND way.depth >= m.depth
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to)
    THEN
        SELECT array_agg(way.branch), array_agg(way.depth) INTO v_branches, v_depths
        FROM recollect.messages m
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, m.branch, m.depth) way
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to;
    END IF;
    RETURN COALESCE((
        SELECT reach.astray
        FROM recollect.reach_of_memory(p_tenant, p_thread, p_memory, v_branches, v_depths) AS reach), false);
END;
$$;

-- Lets the summary of a thread follow the head. One that was made of messages on
-- another path ends. The newest one that it goes on from, or took the place of, and
-- that was not made there holds again, and the path is looked at from where that one
-- ends; without any, from where those begin that cannot hold. Whether anything was
-- changed.
CREATE FUNCTION recollect.turn_summary(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branches integer[];
    v_depths integer[];
    v_astray uuid[];
    v_chain uuid[];
    v_back uuid;
    v_covered integer;
    v_imported boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.app_id, t.user_id, t.head_id, t.head_branch, t.head_depth INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT COALESCE(array_agg(way.branch), '{}'), COALESCE(array_agg(way.depth), '{}') INTO v_branches, v_depths
    FROM recollect.path(p_tenant, p_thread, v_thread.head_branch, v_thread.head_depth) way;
    v_astray := ARRAY(
        SELECT m.memory_id
        FROM recollect.memories m
        CROSS JOIN LATERAL recollect.reach_of_memory(p_tenant, p_thread, m.memory_id, v_branches, v_depths) AS reach
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
            AND m.valid_until IS NULL AND NOT m.pinned AND reach.astray);
    -- Nobody has waited so far, and mostly there is nothing to do.
    IF v_astray = '{}' THEN
        RETURN false;
    END IF;
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.head_id = v_thread.head_id
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        -- It has moved again, and another look is wanted.
        RETURN false;
    END IF;
    PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
    -- What somebody has erased or corrected is not among them.
    WITH RECURSIVE chain AS (
        SELECT unnest(v_astray) AS memory_id
        UNION
        SELECT m.memory_id
        FROM chain
        JOIN recollect.memories m
            ON m.tenant_id = p_tenant AND m.superseded_by = chain.memory_id
            AND m.thread_id = p_thread AND m.strategy = 'summary' AND NOT m.pinned
    )
    SELECT array_agg(chain.memory_id) INTO v_chain FROM chain;
    -- One that holds already, or else one of those.
    SELECT m.memory_id, reach.covered INTO v_back, v_covered
    FROM recollect.memories m
    CROSS JOIN LATERAL recollect.reach_of_memory(p_tenant, p_thread, m.memory_id, v_branches, v_depths) AS reach
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary' AND NOT m.pinned
        AND NOT reach.astray
        AND (m.valid_until IS NULL OR m.memory_id = ANY (v_chain) AND NOT EXISTS (
            -- What it says may hold by another memory now.
            SELECT FROM recollect.memories o
            WHERE o.tenant_id = p_tenant AND o.app_id = m.app_id AND o.user_id = m.user_id
                AND (o.content_hash = m.content_hash OR m.record_id <> '' AND o.record_id = m.record_id)
                AND o.valid_until IS NULL AND NOT o.memory_id = ANY (v_astray)))
    ORDER BY m.valid_until IS NULL DESC, m.ordinal DESC
    LIMIT 1;
    SELECT COALESCE(v_covered, min(x.depth) - 1), bool_or(x.imported) INTO v_covered, v_imported
    FROM recollect.memory_sources s
    JOIN recollect.messages x ON x.tenant_id = p_tenant AND x.message_id = s.message_id
    WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (v_chain) AND s.thread_id = p_thread;

    PERFORM recollect.end_memories(p_tenant, v_thread.app_id, v_thread.user_id, v_astray, v_back, false);
    UPDATE recollect.memories m
    SET valid_until = NULL, superseded_by = NULL, version = version + 1, updated_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.memory_id = v_back AND m.valid_until IS NOT NULL;
    PERFORM recollect.queue_memory(p_tenant, v_thread.app_id, v_thread.user_id, u.id, 'upsert')
    FROM unnest(v_astray || v_back) AS u (id)
    WHERE u.id IS NOT NULL;
    -- Of other branches nothing is in a summary that holds.
    UPDATE recollect.branches b
    SET extract_seq = COALESCE((
        SELECT CASE WHEN v_back IS NULL THEN LEAST(b.extract_seq, m.seq) ELSE m.seq END
        FROM unnest(v_branches, v_depths) AS way (branch, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth <= LEAST(way.depth, v_covered) AND m.deleted_at IS NULL
        WHERE way.branch = b.branch
        ORDER BY m.depth DESC
        LIMIT 1), 0)
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread;
    UPDATE recollect.threads SET extract_generation = extract_generation + 1
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF v_imported THEN
        PERFORM recollect.learn_from_imported(p_tenant, p_thread);
    END IF;
    PERFORM recollect.note(p_tenant, 'extract_memories', p_thread, '', cardinality(v_astray));
    RETURN true;
END;
$$;

-- Stores what was extracted from the messages of a path that nobody had looked at,
-- up to the one with seq p_to, once: nobody may have looked since p_generation, and
-- what p_built_on tells of memories ({id, text}) must still be so.
--
-- An element of p_facts is that of put_memory, with the ids of the memories that
-- it supersedes. Sources that cannot be read any more are dropped; a fact without
-- any is, too.
CREATE FUNCTION recollect.extract_memories(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint, p_to bigint, p_facts jsonb, p_made_by text,
    p_strategy text, p_built_on jsonb,
    -- ok, thread_not_found, or moved (somebody has looked or erased a message since,
    -- there is no such message, or a memory is not as it was).
    OUT status text, OUT stored bigint, OUT known bigint, OUT dropped bigint, OUT superseded bigint,
    OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_scope text;
    v_fact jsonb;
    v_sources text[];
    v_first text;
    v_ended uuid[];
    v_put record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.app_id, t.user_id, t.scope, t.extract_generation INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
    IF v_thread.extract_generation <> p_generation
        OR EXISTS (
            SELECT FROM jsonb_to_recordset(p_built_on) AS told (id uuid, text text)
            WHERE NOT EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = told.id AND m.text = told.text
                    AND m.valid_until IS NULL)
                OR recollect.is_astray(p_tenant, p_thread, told.id, p_to))
        OR NOT recollect.mark_extracted(p_tenant, p_thread, p_to)
    THEN
        status := 'moved';
        RETURN;
    END IF;
    status := 'ok';
    queue := recollect.memory_queue(p_tenant, v_thread.app_id, v_thread.user_id);
    SELECT l.lexeme INTO STRICT v_scope
    FROM unnest(tsvector_to_array(v_thread.scope)) AS l (lexeme)
    WHERE l.lexeme LIKE '~u%';
    stored := 0;
    known := 0;
    dropped := 0;
    superseded := 0;
    FOR v_fact IN SELECT f.value FROM jsonb_array_elements(p_facts) WITH ORDINALITY AS f (value, place) ORDER BY f.place LOOP
        SELECT COALESCE(array_agg(s.id ORDER BY s.place), '{}') INTO v_sources
        FROM jsonb_array_elements_text(v_fact -> 'sources') WITH ORDINALITY AS s (id, place)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.thread_id = p_thread
            AND m.deleted_at IS NULL;
        IF v_sources = '{}' THEN
            dropped := dropped + 1;
            CONTINUE;
        END IF;
        IF p_strategy = 'summary' THEN
            -- The first message that is in it stays known: the last sources are kept.
            SELECT m.message_id::text INTO v_first
            FROM (
                SELECT u.id::uuid AS id FROM unnest(v_sources) AS u (id)
                UNION ALL
                SELECT s.message_id
                FROM jsonb_to_recordset(p_built_on) AS told (id uuid)
                JOIN recollect.memory_sources s
                    ON s.tenant_id = p_tenant AND s.memory_id = told.id AND s.thread_id = p_thread
            ) AS source
            JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = source.id
            ORDER BY m.depth, m.seq
            LIMIT 1;
            v_sources := array_remove(v_sources, v_first) || v_first;
        END IF;
        SELECT * INTO v_put
        FROM recollect.put_memory(
            p_tenant, v_thread.app_id, v_thread.user_id, v_scope,
            v_fact || jsonb_build_object('sources', to_jsonb(v_sources)),
            'extracted', p_thread, p_made_by, p_strategy) AS p;
        stored := stored + v_put.created::integer;
        known := known + (NOT v_put.created)::integer;
        SELECT COALESCE(array_agg(e.memory_id), '{}') INTO v_ended
        FROM recollect.end_memories(
            p_tenant, v_thread.app_id, v_thread.user_id, recollect.texts_of(v_fact -> 'supersedes')::uuid[],
            (v_put.memory).memory_id, false, (v_put.memory).valid_from) AS e;
        superseded := superseded + cardinality(v_ended);
        SELECT GREATEST(revision, v_put.revision,
            max(recollect.queue_memory(p_tenant, v_thread.app_id, v_thread.user_id, u.id, 'upsert')))
        INTO revision
        FROM unnest(v_ended) AS u (id);
    END LOOP;
    IF stored + superseded > 0 THEN
        PERFORM recollect.note(p_tenant, 'extract_memories', p_thread, '', stored);
    END IF;
END;
$$;

-- Finds memories of a user by word, as match_words finds messages.
CREATE FUNCTION recollect.match_memory_words(
    p_scope text, p_words text, p_type text, p_topics text[], p_entities text[], p_thread uuid, p_origins text[],
    p_after timestamptz, p_before timestamptz, p_superseded boolean, p_limit integer
)
RETURNS TABLE (memory_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH terms AS (
        SELECT t.term, ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
        FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', p_words))) AS t (term)
        LIMIT 64
    ),
    hits AS MATERIALIZED (
        SELECT terms.term, found.memory_id, found.ordinal, found.length
        FROM terms
        CROSS JOIN LATERAL (
            SELECT m.memory_id, m.ordinal, length(m.words) AS length
            FROM recollect.memories m
            WHERE m.words @@ (p_scope::tsquery && terms.query)
                AND m.tenant_id || '' = current_setting('recollect.tenant', true)
                AND (p_superseded OR m.valid_until IS NULL)
                AND (p_type IS NULL OR m.type = p_type)
                AND (p_topics IS NULL OR m.topics && p_topics)
                AND (p_entities IS NULL OR m.entities && p_entities)
                AND (p_thread IS NULL OR m.thread_id = p_thread)
                AND (p_origins IS NULL OR m.origin = ANY (p_origins))
                AND (p_after IS NULL OR m.created_at >= p_after)
                AND (p_before IS NULL OR m.created_at < p_before)
            LIMIT 5000
        ) AS found
    ),
    totals AS (
        SELECT count(DISTINCT hits.memory_id) AS memories, avg(hits.length) AS length FROM hits
    ),
    weights AS (
        SELECT hits.term, ln(1 + (totals.memories + 0.5) / (count(*) + 0.5)) AS weight
        FROM hits CROSS JOIN totals
        GROUP BY hits.term, totals.memories
    )
    SELECT hits.memory_id,
        (sum(weights.weight) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * hits.length / totals.length)))::double precision
    FROM hits
    JOIN weights ON weights.term = hits.term
    CROSS JOIN totals
    GROUP BY hits.memory_id, hits.ordinal, hits.length, totals.length
    ORDER BY 2 DESC, hits.ordinal DESC
    LIMIT p_limit;
END;
$$;

CREATE POLICY search ON recollect.memories FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, memory_id, ordinal, words, type, topics, entities, thread_id, origin, valid_until, created_at)
    ON recollect.memories TO recollect_search;
GRANT CREATE ON SCHEMA recollect TO recollect_search;
ALTER FUNCTION recollect.match_memory_words OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
