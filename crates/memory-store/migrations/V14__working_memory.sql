-- What a session has in mind beside its messages. A thread without a row has a
-- working memory all the same: the messages that no summary covers.
CREATE TABLE recollect.working_memories (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The model that was named last; empty: none was.
    model text NOT NULL DEFAULT '',
    -- Its window in tokens; null where that is not known.
    context_window integer,
    -- Not jsonb: it comes back as it went in, and is never searched into.
    data json NOT NULL DEFAULT '{}',
    -- Another one after each change of data and records, drawn at random, so that
    -- one that was forgotten and made anew has none that somebody has seen.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    -- It had expired, and nobody has read it since.
    rebuilt boolean NOT NULL DEFAULT false,
    -- Null: never.
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
);

CREATE INDEX working_memories_by_expiry ON recollect.working_memories (expires_at)
    WHERE expires_at IS NOT NULL;

-- The memories that were put into it. Those that were erased since are not there
-- any more.
CREATE TABLE recollect.working_records (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1.
    position integer NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, memory_id)
);

SELECT recollect.isolate('working_memories', 'working_records');
GRANT SELECT, INSERT, UPDATE, DELETE
    ON recollect.working_memories, recollect.working_records
    TO recollect_service;

-- Workers see which ones have expired, and nothing of what is in them.
CREATE POLICY worker ON recollect.working_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, expires_at) ON recollect.working_memories TO recollect_worker;

-- Erases the working memory of a thread, for those who erase its messages.
CREATE FUNCTION recollect.erase_working_memory(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.working_memories WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;

-- The working memory of a thread without its messages, all of one moment.
CREATE FUNCTION recollect.working_state(
    p_tenant text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text,
    OUT generation bigint,
    -- The path to the head, as recollect.path has it.
    OUT head_depth integer, OUT branches integer[], OUT above integer[], OUT depths integer[],
    -- The summary that holds, where it ends, and what it says; null, 0, 0 and ''
    -- without one.
    OUT tip bigint, OUT tip_branch integer, OUT covered integer, OUT context text, OUT context_tokens integer,
    -- Readable messages that the context stands for, and those that stand in full.
    OUT summarized_count bigint, OUT message_count bigint, OUT message_tokens bigint,
    OUT model text, OUT context_window integer, OUT data json, OUT expires_at timestamptz,
    -- Its time has come, and nobody has noted that yet.
    OUT expired boolean,
    OUT rebuilt boolean,
    -- Whether anything is in it.
    OUT anything boolean, OUT etag text, OUT updated_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_row record;
    v_tip record;
    v_records text;
    -- Of a row that only a model was named in.
    c_none CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    SELECT t.last_seq, t.message_count, t.head_id, t.head_branch, t.head_depth, t.summary_generation, t.updated_at
    INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    status := 'ok';
    generation := v_thread.summary_generation;
    head_depth := v_thread.head_depth;
    SELECT COALESCE(array_agg(p.branch ORDER BY p.place), '{}'), COALESCE(array_agg(p.above ORDER BY p.place), '{}'),
        COALESCE(array_agg(p.depth ORDER BY p.place), '{}')
    INTO branches, above, depths
    FROM recollect.path(p_tenant, p_thread, v_thread.head_branch, v_thread.head_depth)
        WITH ORDINALITY AS p (branch, above, depth, place);

    SELECT d.number, d.branch, d.to_depth, d.text, d.tokens, d.created_at INTO v_tip
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
        AND (d.branch = 0 OR EXISTS (
            SELECT FROM unnest(branches, depths) AS way (branch, depth)
            WHERE way.branch = d.branch AND way.depth >= d.to_depth))
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    tip := v_tip.number;
    tip_branch := COALESCE(v_tip.branch, 0);
    covered := COALESCE(v_tip.to_depth, 0);
    context := COALESCE(v_tip.text, '');
    context_tokens := COALESCE(v_tip.tokens, 0);
    summarized_count := 0;
    IF context <> '' THEN
        WITH RECURSIVE chain AS (
            SELECT d.number, d.based_on, d.sets_aside, d.message_count
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = tip
            UNION ALL
            SELECT d.number, d.based_on, d.sets_aside, d.message_count
            FROM chain
            JOIN recollect.distillates d
                ON d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.number = chain.based_on
                -- Whatever the rows say, this comes to an end.
                AND d.number < chain.number
        )
        SELECT COALESCE(sum(chain.message_count) FILTER (WHERE NOT chain.sets_aside), 0)
        INTO summarized_count FROM chain;
    END IF;
    SELECT z.message_count, z.message_tokens INTO message_count, message_tokens
    FROM recollect.stretch_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, covered, head_depth) z;

    SELECT w.model, w.context_window, w.data, w.version, w.rebuilt, w.expires_at, w.updated_at INTO v_row
    FROM recollect.working_memories w
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread;
    model := COALESCE(v_row.model, '');
    context_window := v_row.context_window;
    data := COALESCE(v_row.data, '{}');
    expires_at := v_row.expires_at;
    expired := COALESCE(v_row.expires_at <= clock_timestamp(), false);
    rebuilt := COALESCE(v_row.rebuilt, false);
    SELECT string_agg(r.memory_id || ':' || m.version, ',' ORDER BY r.position) INTO v_records
    FROM recollect.working_records r
    JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = r.memory_id
    WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread;
    anything := message_count > 0 OR context <> '' OR data::text <> '{}' OR v_records IS NOT NULL;
    etag := left(encode(sha256(convert_to(concat_ws('|',
        COALESCE(NULLIF(v_row.version, c_none)::text, '-'), v_thread.last_seq, v_thread.message_count,
        COALESCE(v_thread.head_id::text, '-'), COALESCE(tip, 0), covered, COALESCE(v_records, '-')), 'UTF8')), 'hex'), 32);
    updated_at := GREATEST(v_thread.updated_at, v_tip.created_at, v_row.updated_at);
END;
$$;

-- Reads the messages of a working memory, the newest first, and then one row
-- without any, which has the rest. It stops after p_max_rows messages, or when
-- they have p_max_bytes; with a limit of 0 it reads none.
CREATE FUNCTION recollect.read_working_memory(
    p_tenant text, p_thread uuid, p_max_rows integer, p_max_bytes bigint
)
RETURNS TABLE (
    message_id uuid, parent_id uuid, seq bigint, branch integer, depth integer, role text, name text,
    parts json, metadata jsonb, tokens integer, said_at timestamptz,
    status text, context text, context_tokens integer, summarized_count bigint,
    message_count bigint, message_tokens bigint,
    model text, context_window integer, data json, expires_at timestamptz, expired boolean, rebuilt boolean,
    anything boolean, etag text, updated_at timestamptz, covered integer, head_depth integer
)
LANGUAGE plpgsql STABLE
-- As in `history`: the index gives the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_rows integer := 0;
    v_bytes bigint := 0;
    v_size integer;
BEGIN
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    IF v_state.status = 'ok' THEN
        <<path>>
        FOR i IN 1..cardinality(v_state.branches) LOOP
            EXIT WHEN v_state.depths[i] <= v_state.covered OR v_rows >= p_max_rows;
            FOR message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at, v_size IN
                SELECT m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
                    m.parts, m.metadata, m.tokens, m.said_at, m.bytes
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_state.branches[i]
                    AND m.depth > GREATEST(v_state.above[i], v_state.covered) AND m.depth <= v_state.depths[i]
                    AND m.deleted_at IS NULL
                ORDER BY m.depth DESC
                LIMIT p_max_rows - v_rows
            LOOP
                v_bytes := v_bytes + v_size;
                EXIT path WHEN v_bytes > p_max_bytes AND v_rows > 0;
                RETURN NEXT;
                v_rows := v_rows + 1;
            END LOOP;
        END LOOP;
    END IF;
    message_id := NULL;
    status := v_state.status;
    context := v_state.context;
    context_tokens := v_state.context_tokens;
    summarized_count := v_state.summarized_count;
    message_count := v_state.message_count;
    message_tokens := v_state.message_tokens;
    model := v_state.model;
    context_window := v_state.context_window;
    data := v_state.data;
    expires_at := v_state.expires_at;
    expired := v_state.expired;
    rebuilt := v_state.rebuilt;
    anything := v_state.anything;
    etag := v_state.etag;
    updated_at := v_state.updated_at;
    covered := v_state.covered;
    head_depth := v_state.head_depth;
    RETURN NEXT;
END;
$$;

-- The newest messages of a working memory, the newest first, by which a caller's
-- are told from those that are there; `whole` where there are no more.
CREATE FUNCTION recollect.working_tail(p_tenant text, p_thread uuid, p_limit integer)
RETURNS TABLE (
    message_id uuid, depth integer, role text, name text, digest bytea, said_at timestamptz, whole boolean
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_state record;
BEGIN
    SELECT s.branches, s.above, s.depths, s.covered, s.message_count INTO v_state
    FROM recollect.working_state(p_tenant, p_thread) s;
    RETURN QUERY
    SELECT m.message_id, m.depth, m.role, m.name, sha256(convert_to(m.parts::text, 'UTF8')), m.said_at,
        v_state.message_count <= p_limit
    FROM unnest(v_state.branches, v_state.above, v_state.depths) AS way (branch, above, depth)
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
        AND m.depth > GREATEST(way.above, v_state.covered) AND m.depth <= way.depth
        AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT p_limit;
END;
$$;

-- Begins a change of a working memory: waits at the thread's row, as appends do;
-- whether the thread lives.
CREATE FUNCTION recollect.lock_working_memory(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    RETURN FOUND;
END;
$$;

-- Takes the messages before a depth out of the working memory, and replaces its
-- context, or keeps it where that is null. The caller has the thread's lock.
CREATE FUNCTION recollect.set_aside(
    p_tenant text, p_actor text, p_thread uuid, p_keep_from integer, p_context text, p_tokens integer, p_made_by text
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_end record;
    v_own boolean;
    v_done record;
BEGIN
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    v_own := p_context IS NOT NULL AND p_context <> v_state.context;
    SELECT m.branch, m.depth INTO v_end
    FROM unnest(v_state.branches, v_state.above, v_state.depths) AS way (branch, above, depth)
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
        AND m.depth > GREATEST(way.above, v_state.covered) AND m.depth <= LEAST(way.depth, p_keep_from - 1)
        AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT 1;
    IF v_end.depth IS NULL AND NOT v_own THEN
        RETURN;
    END IF;
    SELECT c.* INTO v_done
    FROM recollect.commit_summary(
        p_tenant, p_actor, p_thread, v_state.generation,
        COALESCE(v_end.branch, v_state.tip_branch), v_state.covered, COALESCE(v_end.depth, v_state.covered),
        CASE WHEN v_own THEN p_context ELSE v_state.context END,
        CASE WHEN v_own THEN p_tokens ELSE v_state.context_tokens END,
        p_made_by, v_state.tip, v_own, v_end.depth IS NOT NULL) AS c;
    IF v_done.status <> 'ok' THEN
        RAISE EXCEPTION 'messages could not be set aside: %', v_done.status;
    END IF;
END;
$$;

-- Empties the contexts of a thread's working memory, also those that another
-- path would come back to. What they stand for stays out of it. The caller has
-- the thread's lock.
CREATE FUNCTION recollect.forget_contexts(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.distillates
    SET text = '', tokens = 0, sets_aside = true, own_text = true
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary' AND text <> '';
    IF FOUND THEN
        UPDATE recollect.threads
        SET summary_generation = summary_generation + 1
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
    END IF;
END;
$$;

-- Forgets the working memory of a thread if its time has come: with
-- rebuild_expired all messages of the thread are in it again, otherwise those that
-- were said since. The caller has the thread's lock.
CREATE FUNCTION recollect.expire_working_memory(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_actor text := current_setting('recollect.actor', true);
    v_rebuild boolean;
    v_expired timestamptz;
    v_since integer;
BEGIN
    SELECT COALESCE((t.policy ->> 'rebuild_expired')::boolean, (p.policy ->> 'rebuild_expired')::boolean, false),
        w.expires_at
    INTO v_rebuild, v_expired
    FROM recollect.working_memories w
    JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = p_thread
    LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.expires_at <= clock_timestamp();
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Its time ended it, not who comes now.
    PERFORM set_config('recollect.actor', 'worker', true);
    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF v_rebuild THEN
        UPDATE recollect.working_memories
        SET data = '{}', version = gen_random_uuid(), rebuilt = true, expires_at = NULL,
            updated_at = clock_timestamp()
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        DELETE FROM recollect.distillates
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary';
        UPDATE recollect.threads
        SET summary_generation = summary_generation + 1
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        PERFORM recollect.want_distill(p_tenant, p_thread);
    ELSE
        DELETE FROM recollect.working_memories WHERE tenant_id = p_tenant AND thread_id = p_thread;
        SELECT min(m.depth) INTO v_since
        FROM recollect.threads t
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, t.head_branch, t.head_depth) way
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth > way.above AND m.depth <= way.depth
            AND m.deleted_at IS NULL AND m.appended_at > v_expired
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
        PERFORM recollect.forget_contexts(p_tenant, p_thread);
        PERFORM recollect.set_aside(
            p_tenant, 'worker', p_thread, COALESCE(v_since, 2147483647), '', 0, 'worker');
    END IF;
    PERFORM recollect.note(p_tenant, 'expire_working_memory', p_thread, '', 1);
    PERFORM set_config('recollect.actor', v_actor, true);
    RETURN true;
END;
$$;

-- Forgets the working memory of a thread if its time has come.
CREATE FUNCTION recollect.sweep_working_memory(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN recollect.lock_working_memory(p_tenant, p_actor, p_thread)
        AND recollect.expire_working_memory(p_tenant, p_thread);
END;
$$;

-- What reading a working memory changes: it is forgotten when its time has come,
-- it is told once that it was made anew, and the model that is named stays.
CREATE FUNCTION recollect.touch_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- Empty: the one named last.
    p_model text, p_window integer,
    -- ok or thread_not_found.
    OUT status text, OUT rebuilt boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT recollect.lock_working_memory(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    status := 'ok';
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    UPDATE recollect.working_memories w
    SET rebuilt = false
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.rebuilt;
    rebuilt := FOUND;
    IF recollect.name_model(p_tenant, p_thread, p_model, p_window) OR rebuilt THEN
        PERFORM recollect.note(p_tenant, 'get_working_memory', p_thread, p_model, 1);
    END IF;
END;
$$;

-- Makes a model the one whose window counts; whether that changed anything.
CREATE FUNCTION recollect.name_model(p_tenant text, p_thread uuid, p_model text, p_window integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF p_model = '' THEN
        RETURN false;
    END IF;
    -- Data and records stay as they are, and so does their version: that of a new
    -- row says no more than no row.
    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, model, context_window, version)
    VALUES (p_tenant, p_thread, p_model, p_window, '00000000-0000-0000-0000-000000000000')
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET model = EXCLUDED.model, context_window = EXCLUDED.context_window, updated_at = clock_timestamp()
    WHERE w.model <> EXCLUDED.model OR w.context_window IS DISTINCT FROM EXCLUDED.context_window;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- A smaller window may be full.
    PERFORM recollect.want_distill(p_tenant, p_thread);
    RETURN true;
END;
$$;

-- Replaces the working memory of a thread: all of it or nothing, because it is
-- one statement, and what cannot be stored is told before anything is.
CREATE FUNCTION recollect.put_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- The state that the rest was made for.
    p_etag text,
    -- Messages of the working set before this depth leave it.
    p_keep_from integer,
    -- What is appended, as recollect.append takes it; may be nothing.
    p_ids uuid[], p_roles text[], p_names text[], p_parts json[], p_metadata jsonb[], p_tokens integer[],
    p_words text[], p_said timestamptz[],
    -- Null: it stays.
    p_context text, p_context_tokens integer,
    -- Elements are those of put_memory.
    p_items jsonb, p_scope text,
    -- Null: it lives for good.
    p_data json, p_ttl_seconds double precision,
    p_model text, p_window integer,
    -- ok, thread_not_found, changed, message_exists (fault_id) or
    -- source_not_found (item and source: which one, from 0).
    OUT status text, OUT fault_id uuid, OUT item integer, OUT source integer,
    -- Of the messages; null: none was appended.
    OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_thread record;
    v_appended record;
    v_item record;
    v_put record;
    v_changes bigint := 0;
BEGIN
    IF NOT recollect.lock_working_memory(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    IF v_state.expired OR v_state.etag <> p_etag THEN
        status := 'changed';
        RETURN;
    END IF;
    SELECT t.app_id, t.user_id INTO STRICT v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    SELECT i.place - 1, s.place - 1 INTO item, source
    FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place)
    CROSS JOIN LATERAL jsonb_array_elements_text(i.value -> 'sources') WITH ORDINALITY AS s (id, place)
    WHERE NOT s.id::uuid = ANY (p_ids)
        AND NOT EXISTS (
            SELECT FROM recollect.messages m
            JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id
            WHERE m.tenant_id = p_tenant AND m.message_id = s.id::uuid AND m.deleted_at IS NULL
                AND t.app_id = v_thread.app_id AND t.user_id = v_thread.user_id
                AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()))
    ORDER BY 1, 2
    LIMIT 1;
    IF FOUND THEN
        status := 'source_not_found';
        RETURN;
    END IF;

    IF cardinality(p_ids) > 0 THEN
        SELECT a.* INTO v_appended
        FROM recollect.append(
            p_tenant, p_actor, p_thread, p_ids, NULL, p_roles, p_names, p_parts, p_metadata, p_tokens, p_words, p_said,
            NULL, NULL, false, NULL, false) AS a;
        IF v_appended.status <> 'ok' THEN
            -- It has undone what it did.
            status := v_appended.status;
            fault_id := v_appended.fault_id;
            RETURN;
        END IF;
        revision := v_appended.revision;
    END IF;
    PERFORM recollect.set_aside(
        p_tenant, p_actor, p_thread, LEAST(p_keep_from, v_state.head_depth + 1), p_context, p_context_tokens, 'caller');

    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF jsonb_array_length(p_items) > 0 THEN
        PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
    END IF;
    FOR v_item IN
        SELECT i.value, i.place FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (value, place) ORDER BY i.place
    LOOP
        SELECT p.* INTO v_put
        FROM recollect.put_memory(
            p_tenant, v_thread.app_id, v_thread.user_id, p_scope, v_item.value, 'working_memory', p_thread, '', '') AS p;
        v_changes := v_changes + (v_put.revision IS NOT NULL)::integer;
        INSERT INTO recollect.working_records (tenant_id, thread_id, position, memory_id)
        VALUES (p_tenant, p_thread, v_item.place, (v_put.memory).memory_id)
        -- Two of them say the same.
        ON CONFLICT DO NOTHING;
    END LOOP;
    IF v_changes > 0 THEN
        PERFORM recollect.note(p_tenant, 'add_memories', p_thread, v_thread.app_id, v_changes);
    END IF;

    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, data, expires_at)
    VALUES (p_tenant, p_thread, p_data, clock_timestamp() + make_interval(secs => p_ttl_seconds))
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET data = EXCLUDED.data, version = EXCLUDED.version, rebuilt = false, expires_at = EXCLUDED.expires_at,
        updated_at = clock_timestamp();
    PERFORM recollect.name_model(p_tenant, p_thread, p_model, p_window);
    PERFORM recollect.note(p_tenant, 'put_working_memory', p_thread, '', COALESCE(cardinality(p_ids), 0));
    status := 'ok';
END;
$$;

-- Begins a change of a working memory's data, and tells what it is.
CREATE FUNCTION recollect.begin_working_data(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text, OUT etag text, OUT data json
)
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT recollect.lock_working_memory(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    SELECT s.status, s.etag, s.data INTO status, etag, data FROM recollect.working_state(p_tenant, p_thread) s;
END;
$$;

-- Stores the data of a working memory in the transaction of begin_working_data,
-- and returns the etag.
CREATE FUNCTION recollect.set_working_data(p_tenant text, p_thread uuid, p_data json)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, data)
    VALUES (p_tenant, p_thread, p_data)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET data = EXCLUDED.data, version = EXCLUDED.version, updated_at = clock_timestamp();
    PERFORM recollect.note(p_tenant, 'update_working_memory_data', p_thread, '', 1);
    RETURN (SELECT s.etag FROM recollect.working_state(p_tenant, p_thread) s);
END;
$$;

-- Forgets the working memory of a thread: its data, its records, its context and
-- its model, and its messages leave it.
CREATE FUNCTION recollect.delete_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text,
    -- Whether anything was in it.
    OUT deleted boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT recollect.lock_working_memory(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    SELECT s.status, s.anything INTO status, deleted FROM recollect.working_state(p_tenant, p_thread) s;
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.forget_contexts(p_tenant, p_thread);
    PERFORM recollect.set_aside(p_tenant, p_actor, p_thread, 2147483647, '', 0, 'caller');
    IF deleted THEN
        PERFORM recollect.note(p_tenant, 'delete_working_memory', p_thread, '', 1);
    END IF;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
