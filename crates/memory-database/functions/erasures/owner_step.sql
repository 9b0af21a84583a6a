-- Does the next step of the erasure of a user, an app or a tenant; see erase_step. The caller
-- has the lock of its row. Returns more; wait: nothing to do for now; or done.
--
-- The steps: threads (end all of them; each is erased on its own), messages (that a user said in threads of
-- others or of no user), memories (and documents), rest (once all
-- threads are erased), queues (wait for the index and object storage), outside (a worker erases
-- the rest in the index, and in the files of an embedded database), check.
CREATE OR REPLACE FUNCTION recollect.erase_owner_step(p_tenant text, p_erasure uuid, p_limit bigint)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_erasure recollect.erasures;
    v_scope text;
    v_thread record;
    -- The threads with messages that the user said.
    v_said text;
    v_message record;
    v_memories uuid[];
    v_count bigint := 0;
    v_left boolean;
BEGIN
    SELECT e.* INTO v_erasure FROM recollect.erasures e
    WHERE e.tenant_id = p_tenant AND e.erasure_id = p_erasure;
    PERFORM set_config('recollect.actor', v_erasure.actor, true);
    -- The statement is written for each scope, because each has its own index.
    v_scope := 'x.tenant_id = $1'
        || CASE WHEN v_erasure.app_id IS NOT NULL THEN ' AND x.app_id = $2'
            WHEN v_erasure.user_id IS NOT NULL THEN ' AND x.app_id = ANY (recollect.apps_of($1))' ELSE '' END
        || CASE WHEN v_erasure.user_id IS NULL THEN '' ELSE ' AND x.user_id = $3' END;

    CASE v_erasure.step
    WHEN 'threads' THEN
        FOR v_thread IN EXECUTE format(
            'SELECT x.thread_id, x.ordinal FROM recollect.threads x
             WHERE %s AND x.ordinal > $4
             ORDER BY x.ordinal LIMIT 200
             FOR UPDATE SKIP LOCKED', v_scope)
        USING p_tenant, v_erasure.app_id, v_erasure.user_id, COALESCE(v_erasure.erased_seq, 0)
        LOOP
            UPDATE recollect.erasures
            SET parent_id = p_erasure
            WHERE tenant_id = p_tenant AND erasure_id = v_thread.thread_id AND step NOT IN ('hide', 'clear');
            IF NOT FOUND THEN
                PERFORM recollect.hide_thread(p_tenant, v_thread.thread_id, p_erasure);
            END IF;
            v_erasure.erased_seq := v_thread.ordinal;
            v_count := v_count + 1;
        END LOOP;
        IF v_count > 0 THEN
            UPDATE recollect.erasures SET erased_seq = v_erasure.erased_seq
            WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
            RETURN 'more';
        END IF;
        -- Threads that were locked.
        EXECUTE format(
            'SELECT EXISTS (
                SELECT FROM recollect.threads x
                WHERE %s AND NOT EXISTS (
                    SELECT FROM recollect.erasures e
                    WHERE e.tenant_id = $1 AND e.erasure_id = x.thread_id AND e.parent_id = $4))', v_scope)
        INTO v_left
        USING p_tenant, v_erasure.app_id, v_erasure.user_id, p_erasure;
        UPDATE recollect.erasures
        SET erased_seq = NULL,
            step = CASE WHEN v_left THEN 'threads' WHEN v_erasure.user_id <> '' THEN 'messages' ELSE 'memories' END
        WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN CASE WHEN v_left THEN 'wait' ELSE 'more' END;

    WHEN 'messages' THEN
        -- Of threads that are erased as a whole nothing is left to do.
        v_said := replace(v_scope, 'x.user_id', 'x.said_by') || ' AND x.said_by <> ''''
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())';
        -- Of one thread in a transaction, because each deletion locks its thread.
        EXECUTE format(
            'SELECT t.thread_id, t.app_id, t.user_id FROM recollect.messages x
             JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = x.thread_id
             WHERE %s
             LIMIT 1
             FOR UPDATE OF t SKIP LOCKED', v_said)
        INTO v_thread
        USING p_tenant, v_erasure.app_id, v_erasure.user_id;
        IF v_thread IS NULL THEN
            EXECUTE format(
                'SELECT EXISTS (
                    SELECT FROM recollect.messages x
                    JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = x.thread_id
                    WHERE %s)', v_said)
            INTO v_left
            USING p_tenant, v_erasure.app_id, v_erasure.user_id;
            IF NOT v_left THEN
                UPDATE recollect.erasures SET step = 'memories' WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
            END IF;
            RETURN CASE WHEN v_left THEN 'wait' ELSE 'more' END;
        END IF;
        -- In order, to avoid deadlocks: each deletion locks the owners of the memories made of its
        -- message, which are these two.
        PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, o.user_id)
        FROM (
            SELECT v_thread.user_id
            UNION
            SELECT v_erasure.user_id
            ORDER BY 1
            OFFSET 0
        ) AS o (user_id);
        FOR v_message IN
            SELECT m.message_id
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = v_thread.thread_id
                AND m.said_by = v_erasure.user_id AND m.said_by <> ''
            ORDER BY m.seq
            LIMIT LEAST(p_limit, 50)
        LOOP
            -- Under the worker's name, so that an ephemeral thread lives no longer for it.
            PERFORM recollect.delete_message(p_tenant, 'worker', v_thread.thread_id, v_message.message_id::text);
            v_count := v_count + 1;
        END LOOP;
        UPDATE recollect.erasures
        SET counts = recollect.add_count(v_erasure.counts, 'messages', v_count)
        WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN 'more';

    WHEN 'memories' THEN
        EXECUTE format(
            'SELECT array_agg(m.memory_id) FROM (
                SELECT x.memory_id FROM recollect.memories x WHERE %s ORDER BY x.ordinal LIMIT 200) AS m', v_scope)
        INTO v_memories
        USING p_tenant, v_erasure.app_id, v_erasure.user_id;
        IF v_memories IS NULL THEN
            EXECUTE format(
                'DELETE FROM recollect.documents d
                 WHERE d.tenant_id = $1 AND d.ctid = ANY (ARRAY(
                    SELECT x.ctid FROM recollect.documents x WHERE %s LIMIT $4))', v_scope)
            USING p_tenant, v_erasure.app_id, v_erasure.user_id, p_limit;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            IF v_count > 0 THEN
                PERFORM recollect.audit_of(
                    p_tenant, 'delete_documents', NULL, COALESCE(v_erasure.app_id, ''), v_count,
                    v_erasure.app_id, v_erasure.user_id);
                UPDATE recollect.erasures
                SET counts = recollect.add_count(v_erasure.counts, 'documents', v_count)
                WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
                RETURN 'more';
            END IF;
            UPDATE recollect.erasures SET step = 'rest' WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
            RETURN 'more';
        END IF;
        -- In order, to avoid deadlocks.
        PERFORM recollect.lock_memories(p_tenant, o.app_id, o.user_id)
        FROM (SELECT DISTINCT m.app_id, m.user_id FROM recollect.memories m
              WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories)
              ORDER BY m.app_id, m.user_id OFFSET 0) AS o;
        PERFORM recollect.erase_memories(p_tenant, v_memories);
        PERFORM recollect.audit_of(
            p_tenant, 'delete_memories', NULL, COALESCE(v_erasure.app_id, ''), cardinality(v_memories),
            v_erasure.app_id, v_erasure.user_id);
        UPDATE recollect.erasures
        SET counts = recollect.add_count(v_erasure.counts, 'memories', cardinality(v_memories))
        WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN 'more';

    WHEN 'rest' THEN
        IF EXISTS (
            SELECT FROM recollect.erasures e
            WHERE e.tenant_id = p_tenant AND e.parent_id = p_erasure AND e.finished_at IS NULL)
        THEN
            RETURN 'wait';
        END IF;
        -- The events of the deletion itself stay.
        DELETE FROM recollect.subscription_events d
        WHERE d.tenant_id = p_tenant AND d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.subscription_events x
            WHERE x.tenant_id = p_tenant AND (v_erasure.app_id IS NULL OR x.app_id = v_erasure.app_id)
                AND (v_erasure.user_id IS NULL OR x.user_id = v_erasure.user_id)
                AND (v_erasure.kind = 'tenant' OR x.action NOT IN ('delete_user', 'delete_app'))
            LIMIT p_limit));
        GET DIAGNOSTICS v_count = ROW_COUNT;
        IF v_count > 0 THEN
            UPDATE recollect.erasures
            SET counts = recollect.add_count(v_erasure.counts, 'subscription_events', v_count)
            WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
            RETURN 'more';
        END IF;
        IF v_erasure.kind = 'app' THEN
            DELETE FROM recollect.app_policies WHERE tenant_id = p_tenant AND app_id = v_erasure.app_id;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            v_erasure.counts := recollect.add_count(v_erasure.counts, 'app_policies', v_count);
        ELSIF v_erasure.kind = 'tenant' THEN
            SELECT r.counts, NOT r.done INTO v_erasure.counts, v_left
            FROM recollect.erase_tenant_rows(p_tenant, v_erasure.actor, v_erasure.counts, p_limit) AS r;
        END IF;
        UPDATE recollect.erasures
        SET counts = v_erasure.counts, step = CASE WHEN v_left THEN 'rest' ELSE 'queues' END,
            awaited_change = (SELECT max(o.id) FROM recollect.outbox o WHERE o.tenant_id = p_tenant),
            awaited_object = (SELECT max(d.id) FROM recollect.object_deletions d WHERE d.tenant_id = p_tenant)
        WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN 'more';

    WHEN 'queues' THEN
        -- Removals that were given up are tried again; what else was given up and is erased has
        -- nothing to apply.
        UPDATE recollect.outbox
        SET dead_at = NULL, dead_order = NULL, attempts = 0, available_at = clock_timestamp()
        WHERE tenant_id = p_tenant AND dead_at IS NOT NULL AND op <> 'upsert';
        DELETE FROM recollect.outbox o
        WHERE o.tenant_id = p_tenant AND o.dead_at IS NOT NULL
            AND CASE o.kind
                WHEN 'memory' THEN NOT EXISTS (
                    SELECT FROM recollect.memories m
                    WHERE m.tenant_id = p_tenant AND m.memory_id = o.message_id)
                ELSE NOT EXISTS (
                    SELECT FROM recollect.messages m
                    WHERE m.tenant_id = p_tenant AND m.message_id = o.message_id) END;
        IF EXISTS (
            SELECT FROM recollect.outbox o
            WHERE o.tenant_id = p_tenant AND o.id <= v_erasure.awaited_change AND o.dead_at IS NULL
                -- The next step erases from all others.
                AND o.target = recollect.serving_collection())
            OR EXISTS (
                SELECT FROM recollect.object_deletions d
                WHERE d.tenant_id = p_tenant AND d.id <= v_erasure.awaited_object)
            -- Content of interrupted writes: its owner is not recorded.
            OR EXISTS (
                SELECT FROM recollect.content_holders h
                WHERE h.tenant_id = p_tenant AND NOT h.settled AND h.held_at <= v_erasure.created_at
                    AND NOT EXISTS (
                        SELECT FROM recollect.messages m
                        WHERE m.tenant_id = p_tenant AND m.message_id = h.holder::uuid))
        THEN
            RETURN 'wait';
        END IF;
        UPDATE recollect.erasures SET step = 'outside' WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN 'wait';

    WHEN 'check' THEN
        IF EXISTS (SELECT FROM recollect.count_erased(p_tenant, p_erasure) AS c WHERE c.remaining_count > 0) THEN
            UPDATE recollect.erasures SET step = 'threads', erased_seq = NULL
            WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
            RETURN 'wait';
        END IF;
        UPDATE recollect.erasures SET step = 'done', finished_at = clock_timestamp()
        WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
        RETURN 'done';
    ELSE
        RETURN 'wait';
    END CASE;
END;
$$;
