-- Appends messages to a thread: all or none, in one call.
--
-- Returns a status instead of raising, and needs only its arguments, so that several
-- appends may share one transaction. Appends to one thread wait at its row; every
-- statement after that lock sees the messages that the append before it has committed.
CREATE OR REPLACE FUNCTION recollect.append(
    p_tenant text, p_actor text, p_thread uuid,
    -- An array of recollect.new_message, and for each the parts and the text that searches by word
    -- find it with.
    p_messages json, p_parts json[], p_words text[],
    p_request uuid, p_hash bytea, p_check_head boolean, p_expected_head text, p_imported boolean,
    -- The most bytes of messages that the tenant's ephemeral threads may have; null: no limit.
    p_max_ephemeral_bytes bigint DEFAULT NULL,
    -- Replaces the parent of the first message; null: it stays.
    p_parent text DEFAULT NULL,
    -- ok, replayed, request_reused, thread_not_found, head_moved (fault_id: the
    -- head), parent_not_found, external_exists (both fault_index: the message, from 0),
    -- message_exists (fault_id: the message) or ephemeral_full.
    OUT status text, OUT fault_index integer, OUT fault_id uuid,
    -- On ok and replayed.
    OUT message_ids uuid[], OUT first_seq bigint, OUT branches integer[], OUT tokens integer[],
    OUT revision bigint,
    -- Null: the seqs from first_seq on.
    OUT seqs bigint[]
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_request record;
    v_known record;
    -- Whether messages name who said them: most do not, and are not read for it.
    v_named boolean := strpos(p_messages::text, '"said_by"') > 0;
    v_now timestamptz;
    v_messages recollect.new_message[];
    v_ids uuid[];
    v_external text[];
    v_given_parents text[];
    v_tokens integer[];
    v_count integer := cardinality(p_parts);
    v_stored integer;
    v_bytes bigint;
    v_branch_count integer;
    -- The parent of the next message, its place, and whether it is the end of its branch.
    v_id uuid;
    v_branch integer;
    v_depth integer;
    v_path bigint;
    v_tip boolean;
    v_parent text;
    v_at integer;
    v_parents uuid[] := '{}';
    v_branches integer[] := '{}';
    v_depths integer[] := '{}';
    v_paths bigint[] := '{}';
    -- The branches that start here.
    v_new integer[] := '{}';
    v_new_parents integer[] := '{}';
    v_new_forks uuid[] := '{}';
    v_new_depths integer[] := '{}';
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);

    IF v_named THEN
        -- Before the thread's lock; a caller that has this lock has called it, too.
        PERFORM recollect.allow_speakers(p_tenant, p_thread, p_messages);
    END IF;

    SELECT t.last_seq, t.head_id, t.head_seq, t.head_branch, t.head_depth, t.path_tokens, t.branch_count, t.scope,
        t.distill_at, t.idle_ttl, t.app_id, t.user_id
    INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()
            OR recollect.refuse_clearing(p_tenant, p_thread))
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    IF p_request IS NOT NULL THEN
        SELECT r.thread_id, r.content_hash, r.message_ids, r.first_seq, r.branches, r.tokens, r.revision
        INTO v_request
        FROM recollect.requests r
        WHERE r.tenant_id = p_tenant AND r.request_id = p_request;
        IF FOUND THEN
            IF v_request.content_hash IS DISTINCT FROM p_hash OR v_request.thread_id <> p_thread THEN
                status := 'request_reused';
                RETURN;
            END IF;
            status := 'replayed';
            message_ids := v_request.message_ids;
            first_seq := v_request.first_seq;
            branches := v_request.branches;
            tokens := v_request.tokens;
            revision := v_request.revision;
            RETURN;
        END IF;
    END IF;

    SELECT array_agg(n), array_agg(n.message_id), array_agg(n.external_id), array_agg(n.parent), array_agg(n.tokens),
        sum(octet_length(n.metadata::text))
    INTO v_messages, v_ids, v_external, v_given_parents, v_tokens, v_bytes
    FROM json_populate_recordset(NULL::recollect.new_message, p_messages) AS n;
    v_given_parents[1] := COALESCE(p_parent, v_given_parents[1]);
    IF array_remove(v_external, NULL) <> '{}' THEN
        SELECT r.* INTO v_known FROM recollect.replay_messages(p_tenant, p_thread, v_messages, p_parts) r;
        IF v_known.status <> 'new' THEN
            status := v_known.status;
            fault_index := v_known.fault_index;
            message_ids := v_known.message_ids;
            first_seq := v_known.seqs[1];
            seqs := v_known.seqs;
            branches := v_known.branches;
            tokens := v_known.tokens;
            revision := v_known.revision;
            RETURN;
        END IF;
    END IF;

    IF p_check_head AND recollect.is_other_head(p_tenant, p_thread, v_thread.head_id, p_expected_head) THEN
        status := 'head_moved';
        fault_id := v_thread.head_id;
        RETURN;
    END IF;

    -- Find each message's place in the tree.
    v_branch_count := v_thread.branch_count;
    v_id := v_thread.head_id;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    v_path := v_thread.path_tokens;
    -- Another head was set, or left by a deletion, and may have messages after it.
    v_tip := v_thread.head_seq = v_thread.last_seq
        OR recollect.is_tip(p_tenant, p_thread, v_branch, v_depth);
    FOR i IN 1..v_count LOOP
        v_parent := v_given_parents[i];
        IF v_parent = '' THEN
            v_id := NULL;
        ELSIF v_parent IS NOT NULL THEN
            v_at := COALESCE(
                array_position(v_ids[1:i - 1], recollect.uuid_of(v_parent)),
                array_position(v_external[1:i - 1], v_parent));
            IF v_at IS NOT NULL THEN
                v_id := v_ids[v_at];
                v_branch := v_branches[v_at];
                v_depth := v_depths[v_at];
                v_path := v_paths[v_at];
                v_tip := true;
            ELSE
                v_id := recollect.named_message(p_tenant, p_thread, v_parent);
                SELECT m.branch, m.depth, m.path_tokens INTO v_branch, v_depth, v_path
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.message_id = v_id;
                IF NOT FOUND THEN
                    status := 'parent_not_found';
                    fault_index := i - 1;
                    RETURN;
                END IF;
                v_tip := recollect.is_tip(p_tenant, p_thread, v_branch, v_depth);
            END IF;
            -- An earlier message of this append may have come after it.
            v_tip := v_tip AND NOT EXISTS (
                SELECT FROM unnest(v_branches, v_depths) AS placed (branch, depth)
                WHERE placed.branch = v_branch AND placed.depth = v_depth + 1);
        END IF;

        IF v_id IS NULL THEN
            v_branch_count := v_branch_count + 1;
            v_new := v_new || v_branch_count;
            v_new_parents := v_new_parents || NULL::integer;
            v_new_forks := v_new_forks || NULL::uuid;
            v_new_depths := v_new_depths || 0;
            v_branch := v_branch_count;
            v_depth := 0;
            v_path := 0;
        ELSIF NOT v_tip THEN
            v_branch_count := v_branch_count + 1;
            v_new := v_new || v_branch_count;
            v_new_parents := v_new_parents || v_branch;
            v_new_forks := v_new_forks || v_id;
            v_new_depths := v_new_depths || v_depth;
            v_branch := v_branch_count;
        END IF;
        v_depth := v_depth + 1;
        v_path := v_path + v_tokens[i];
        v_bytes := v_bytes + octet_length(p_parts[i]::text);
        v_parents := v_parents || v_id;
        v_branches := v_branches || v_branch;
        v_depths := v_depths || v_depth;
        v_paths := v_paths || v_path;
        v_id := v_ids[i];
        v_tip := true;
    END LOOP;

    IF v_thread.idle_ttl IS NOT NULL AND recollect.ephemeral_full(p_tenant, 0, v_bytes, NULL, p_max_ephemeral_bytes)
    THEN
        status := 'ephemeral_full';
        RETURN;
    END IF;

    v_now := clock_timestamp();
    INSERT INTO recollect.messages
        (tenant_id, thread_id, app_id, user_id, seq, message_id, parent_id, branch, depth, role, name, said_by,
         parts, metadata, tokens, path_tokens, bytes, said_at, appended_at, imported, words, external_id, external_digest)
    SELECT p_tenant, p_thread, v_thread.app_id, v_thread.user_id, v_thread.last_seq + n.ordinality, n.message_id,
        n.parent_id, n.branch, n.depth, n.role, n.name, COALESCE(n.said_by, ''), n.parts, n.metadata, n.tokens, n.path_tokens,
        octet_length(n.parts::text) + octet_length(n.metadata::text),
        COALESCE(n.said_at, v_now), v_now, p_imported,
        recollect.lexemes(n.words) || v_thread.scope,
        n.external_id, recollect.external_digest(p_thread, n.external_id)
    FROM unnest(v_parents, v_branches, v_depths, v_paths, p_parts, p_words, v_messages) WITH ORDINALITY
        AS n (parent_id, branch, depth, path_tokens, parts, words)
    ON CONFLICT (tenant_id, message_id) DO NOTHING;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    IF v_stored < v_count THEN
        DELETE FROM recollect.messages
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND seq > v_thread.last_seq;
        status := 'message_exists';
        fault_id := COALESCE(
            (SELECT m.message_id FROM recollect.messages m
             WHERE m.tenant_id = p_tenant AND m.message_id = ANY (v_ids) LIMIT 1),
            (SELECT u.id FROM unnest(v_ids) AS u (id) GROUP BY u.id HAVING count(*) > 1 LIMIT 1),
            v_ids[1]);
        RETURN;
    END IF;

    WITH queued AS (
        INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, app_id, user_queue, bulk)
        SELECT p_tenant, p_thread, u.id, v_thread.last_seq + u.place, 'upsert', v_thread.app_id,
            recollect.memory_queue(p_tenant, v_thread.app_id, v_thread.user_id), p_imported
        FROM unnest(v_ids) WITH ORDINALITY AS u (id, place)
        ORDER BY u.place
        RETURNING id
    )
    SELECT max(queued.id) INTO revision FROM queued;

    IF p_request IS NOT NULL THEN
        -- Calls with one request id for one thread have waited at the thread's row. Calls
        -- for two threads meet here, and the second one reuses the id.
        INSERT INTO recollect.requests
            (tenant_id, request_id, thread_id, content_hash, message_ids, first_seq, branches, tokens, revision)
        VALUES
            (p_tenant, p_request, p_thread, p_hash, v_ids, v_thread.last_seq + 1, v_branches, v_tokens, revision)
        ON CONFLICT (tenant_id, request_id) DO NOTHING;
        IF NOT FOUND THEN
            DELETE FROM recollect.messages
            WHERE tenant_id = p_tenant AND thread_id = p_thread AND seq > v_thread.last_seq;
            DELETE FROM recollect.outbox
            WHERE tenant_id = p_tenant AND thread_id = p_thread AND id <= revision
                AND message_id = ANY (v_ids) AND seq > v_thread.last_seq;
            revision := NULL;
            status := 'request_reused';
            RETURN;
        END IF;
    END IF;

    IF v_branch_count > v_thread.branch_count THEN
        INSERT INTO recollect.branches (tenant_id, thread_id, branch, parent_branch, fork_id, fork_depth, created_at)
        SELECT p_tenant, p_thread, n.branch, n.parent_branch, n.fork_id, n.fork_depth, v_now
        FROM unnest(v_new, v_new_parents, v_new_forks, v_new_depths) AS n (branch, parent_branch, fork_id, fork_depth);
    END IF;

    UPDATE recollect.threads
    SET last_seq = last_seq + v_count, head_id = v_id, head_seq = last_seq + v_count, head_branch = v_branch,
        head_depth = v_depth, path_tokens = v_path, branch_count = v_branch_count,
        message_count = message_count + v_count, updated_at = v_now,
        stored_bytes = stored_bytes + v_bytes,
        content_bytes = CASE WHEN idle_ttl IS NULL THEN 0 ELSE content_bytes + v_bytes END,
        -- A use of an ephemeral thread.
        expires_at = CASE WHEN idle_ttl IS NULL THEN expires_at ELSE LEAST(lifetime_end, v_now + idle_ttl) END
    WHERE tenant_id = p_tenant AND thread_id = p_thread;

    -- The path has grown enough to be distilled, or it is another path.
    IF v_path >= v_thread.distill_at OR v_branch <> v_thread.head_branch
        -- Otherwise no facts are extracted from a thread without a user.
        OR v_named AND v_thread.user_id = ''
    THEN
        PERFORM recollect.enqueue_distill(p_tenant, p_thread, p_imported);
    END IF;

    PERFORM recollect.audit(p_tenant, 'append_messages', p_thread, (v_thread.last_seq + 1)::text, v_count);

    status := 'ok';
    message_ids := v_ids;
    first_seq := v_thread.last_seq + 1;
    branches := v_branches;
    tokens := v_tokens;
END;
$$;
