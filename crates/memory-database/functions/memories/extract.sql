-- Stores the facts extracted from the unread messages of a path, up to the one with seq p_to, and
-- marks these as read, once: extract_generation must still be p_generation, and the memories in
-- p_built_on ({id, text}) must still have these texts. With p_to 0 the messages had been read before.
--
-- A summary is stored with its range, which begins where the last one on the path ends
-- (schema/004_memories.sql). Its base must be on the path, too.
--
-- An element of p_facts is what put_memory takes, with the ids of the memories that it supersedes
-- and of the memories that it was built on, which must still exist. Sources that are not readable
-- any more are dropped, and so is a fact without any. A fact of an ephemeral thread ends with the
-- thread, so it supersedes only memories without a source in another thread.
--
-- It may have a user, with the lexemes of user and app as its scope; without one it belongs to the
-- thread's user. It is dropped where one of its sources names another user as the one who said it,
-- and, unless it belongs to the thread's user, where none names its user.
CREATE OR REPLACE FUNCTION recollect.extract_memories(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint, p_to bigint, p_facts jsonb, p_made_by text,
    p_strategy text, p_built_on jsonb,
    -- ok, thread_not_found, or moved (facts were extracted or a message was erased
    -- since, the message does not exist, or a memory has changed).
    OUT status text, OUT stored bigint, OUT known bigint, OUT dropped bigint, OUT superseded bigint,
    -- Of the last change.
    OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_user text;
    v_scope text;
    v_fact jsonb;
    v_sources text[];
    v_first text;
    v_supersedes uuid[];
    v_ended uuid[];
    v_put record;
    -- The new memories, and whose each is.
    v_new uuid[] := '{}';
    v_new_users text[] := '{}';
    -- The users of whose memories any was stored, changed or superseded.
    v_changed text[] := '{}';
    v_revision bigint;
    v_end record;
    v_range recollect.memory_ranges;
    v_based_on bigint[];
    v_moved boolean := false;
    v_summary uuid;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.app_id, t.user_id, t.scope, t.extract_generation, t.idle_ttl IS NOT NULL AS ephemeral INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    -- In order, to avoid deadlocks.
    PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, o.user_id)
    FROM (
        SELECT v_thread.user_id
        UNION
        SELECT f.value ->> 'user' FROM jsonb_array_elements(p_facts) AS f (value) WHERE f.value ->> 'user' <> ''
        ORDER BY 1
        OFFSET 0
    ) AS o (user_id);
    IF p_strategy = 'summary' THEN
        SELECT m.branch, m.depth, p.branches, p.depths INTO v_end
        FROM recollect.messages m
        CROSS JOIN LATERAL recollect.path_arrays(p_tenant, p_thread, m.branch, m.depth) p
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to AND m.deleted_at IS NULL;
        v_range := recollect.memory_range_on_path(p_tenant, p_thread, v_end.branches, v_end.depths);
        SELECT COALESCE(array_agg(base.number), '{}'), COALESCE(bool_or(NOT base.is_on_path), false)
        INTO v_based_on, v_moved
        FROM (
            SELECT DISTINCT ON (r.memory_id) r.number,
                recollect.is_on_path(v_end.branches, v_end.depths, r.branch, r.to_depth) AS is_on_path
            FROM jsonb_to_recordset(p_built_on) AS basis (id uuid)
            JOIN recollect.memory_ranges r
                ON r.tenant_id = p_tenant AND r.memory_id = basis.id AND r.thread_id = p_thread
            ORDER BY r.memory_id, is_on_path DESC, r.to_depth DESC
        ) AS base;
        v_moved := v_moved OR v_end.depth IS NULL OR COALESCE(v_range.to_depth >= v_end.depth, false);
    END IF;
    IF v_thread.extract_generation <> p_generation
        OR v_moved
        OR EXISTS (
            SELECT FROM jsonb_to_recordset(p_built_on) AS basis (id uuid, text text)
            WHERE NOT EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = basis.id AND m.text = basis.text
                    AND m.valid_until IS NULL))
        OR EXISTS (
            SELECT FROM jsonb_array_elements(p_facts) AS f (value)
            CROSS JOIN LATERAL jsonb_array_elements_text(f.value -> 'built_on') AS basis (id)
            WHERE NOT EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = basis.id::uuid))
        OR (p_to > 0 AND NOT recollect.mark_extracted(p_tenant, p_thread, p_to))
    THEN
        status := 'moved';
        RETURN;
    END IF;
    status := 'ok';
    queue := recollect.memory_queue(p_tenant, v_thread.app_id, v_thread.user_id);
    -- Of the thread's user and of the app.
    SELECT string_agg(l.lexeme, ' ') INTO STRICT v_scope
    FROM unnest(tsvector_to_array(v_thread.scope)) AS l (lexeme)
    WHERE l.lexeme LIKE '~u%' OR l.lexeme LIKE '~a%';
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
        v_user := COALESCE(v_fact ->> 'user', v_thread.user_id);
        IF v_sources = '{}' OR NOT recollect.may_own_fact(p_tenant, v_thread.user_id, v_user, v_sources::uuid[]) THEN
            dropped := dropped + 1;
            CONTINUE;
        END IF;
        IF p_strategy = 'summary' THEN
            -- The first message that a summary covers is added last, because
            -- the last sources are kept.
            SELECT m.message_id::text INTO v_first
            FROM (
                SELECT u.id::uuid AS id FROM unnest(v_sources) AS u (id)
                UNION ALL
                SELECT s.message_id
                FROM jsonb_to_recordset(p_built_on) AS basis (id uuid)
                JOIN recollect.memory_sources s
                    ON s.tenant_id = p_tenant AND s.memory_id = basis.id AND s.thread_id = p_thread
            ) AS source
            JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = source.id
            ORDER BY m.depth, m.seq
            LIMIT 1;
            v_sources := array_remove(v_sources, v_first) || v_first;
        END IF;
        SELECT * INTO v_put
        FROM recollect.put_memory(
            p_tenant, v_thread.app_id, v_user, COALESCE(v_fact ->> 'scope', v_scope),
            v_fact || jsonb_build_object('sources', to_jsonb(v_sources)),
            'extracted', p_thread, p_made_by, p_strategy) AS p;
        IF v_put.created THEN
            stored := stored + 1;
            v_new := v_new || (v_put.memory).memory_id;
            v_new_users := v_new_users || v_user;
            INSERT INTO recollect.memory_ancestors (tenant_id, memory_id, ancestor_id)
            SELECT DISTINCT p_tenant, (v_put.memory).memory_id, basis.id::uuid
            FROM jsonb_array_elements_text(v_fact -> 'built_on') AS basis (id);
        END IF;
        known := known + (NOT v_put.created)::integer;
        v_supersedes := recollect.json_to_texts(v_fact -> 'supersedes')::uuid[];
        IF v_thread.ephemeral THEN
            v_supersedes := ARRAY(
                SELECT m.memory_id FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_supersedes)
                    AND m.thread_id = p_thread AND m.origin = 'extracted'
                    AND NOT EXISTS (
                        SELECT FROM recollect.memory_sources s
                        WHERE s.tenant_id = p_tenant AND s.memory_id = m.memory_id AND s.thread_id <> p_thread));
        END IF;
        SELECT COALESCE(array_agg(e.memory_id), '{}') INTO v_ended
        FROM recollect.end_memories(
            p_tenant, v_thread.app_id, v_user, v_supersedes,
            (v_put.memory).memory_id, false, (v_put.memory).valid_from,
            CASE WHEN v_put.created THEN (v_put.memory).created_at ELSE clock_timestamp() END) AS e;
        superseded := superseded + cardinality(v_ended);
        IF v_put.revision IS NOT NULL OR v_ended <> '{}' THEN
            v_changed := v_changed || v_user;
        END IF;
        IF p_strategy = 'summary' THEN
            -- They hold again where the head returns to their paths.
            UPDATE recollect.memories m
            SET left_path = true
            WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_ended) AND m.thread_id = p_thread
                AND m.strategy = 'summary';
            IF (v_put.memory).strategy = 'summary' AND (v_put.memory).thread_id = p_thread THEN
                v_summary := (v_put.memory).memory_id;
            END IF;
        END IF;
        SELECT GREATEST(v_put.revision, max(recollect.enqueue_memory(p_tenant, v_thread.app_id, v_user, u.id, 'upsert')))
        INTO v_revision
        FROM unnest(v_ended) AS u (id);
        IF v_revision > COALESCE(revision, 0) THEN
            queue := recollect.memory_queue(p_tenant, v_thread.app_id, v_user);
            revision := v_revision;
        END IF;
    END LOOP;
    IF p_strategy = 'summary' THEN
        INSERT INTO recollect.memory_ranges
            (tenant_id, thread_id, memory_id, branch, after_depth, to_depth, based_on)
        VALUES (p_tenant, p_thread, v_summary, v_end.branch, COALESCE(v_range.to_depth, 0), v_end.depth,
            -- Without a summary: the range whose summary still holds.
            CASE WHEN v_summary IS NOT NULL THEN v_based_on
                WHEN v_range.memory_id IS NOT NULL THEN ARRAY[v_range.number]
                ELSE COALESCE(v_range.based_on, '{}') END);
    END IF;
    -- A record for each user, so that who follows one learns of it.
    PERFORM recollect.audit_of(
        p_tenant, 'extract_memories', p_thread, array_to_string(o.ids[1:20], ','), cardinality(o.ids),
        v_thread.app_id, o.user_id)
    FROM (
        SELECT c.user_id, ARRAY(
            SELECT n.id FROM unnest(v_new, v_new_users) WITH ORDINALITY AS n (id, user_id, place)
            WHERE n.user_id = c.user_id
            ORDER BY n.place) AS ids
        FROM (SELECT DISTINCT u.user_id FROM unnest(v_changed) AS u (user_id)) AS c
        ORDER BY c.user_id
    ) AS o;
END;
$$;
