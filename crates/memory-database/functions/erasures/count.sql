-- The number of rows of each table that the erasure of a user, an app or a tenant has erased, and of
-- rows that are still there. Rows created after it had finished do not count.
CREATE OR REPLACE FUNCTION recollect.count_erased(p_tenant text, p_erasure uuid)
RETURNS TABLE (place text, deleted_count bigint, remaining_count bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_erasure recollect.erasures;
    v_counts jsonb;
    v_scope text;
    v_where text;
    v_until timestamptz;
    v_said bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT e.* INTO v_erasure FROM recollect.erasures e
    WHERE e.tenant_id = p_tenant AND e.erasure_id = p_erasure AND e.kind <> 'thread';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_until := COALESCE(v_erasure.finished_at, clock_timestamp());
    SELECT COALESCE(jsonb_object_agg(t.key, t.count), '{}') INTO v_counts
    FROM (
        SELECT c.key, sum(c.value::bigint) AS count
        FROM recollect.erasures e
        CROSS JOIN LATERAL jsonb_each_text(e.counts) AS c
        WHERE e.tenant_id = p_tenant AND (e.parent_id = p_erasure OR e.erasure_id = p_erasure)
        GROUP BY c.key
    ) AS t;
    v_scope := 'x.tenant_id = $1'
        || CASE WHEN v_erasure.app_id IS NOT NULL THEN ' AND x.app_id = $2'
            WHEN v_erasure.user_id IS NOT NULL THEN ' AND x.app_id = ANY (recollect.apps_of($1))' ELSE '' END
        || CASE WHEN v_erasure.user_id IS NULL THEN '' ELSE ' AND x.user_id = $3' END;

    -- By the app and the user in their rows.
    FOR place, v_where IN
        SELECT t.name, format('%s AND %s <= $4', v_scope, t.condition)
        FROM (VALUES ('threads', 'x.created_at'), ('messages', 'x.deleted_at IS NULL AND x.appended_at'),
                     ('memories', 'x.updated_at'), ('documents', 'x.updated_at')) AS t (name, condition)
    LOOP
        EXECUTE format('SELECT count(*) FROM recollect.%I x WHERE %s', place, v_where)
        INTO remaining_count
        USING p_tenant, v_erasure.app_id, v_erasure.user_id, v_until;
        IF place = 'messages' THEN
            -- Of deleted messages only threads are indexed.
            remaining_count := remaining_count + (
                SELECT count(*) FROM recollect.erasures e
                JOIN recollect.messages x
                    ON x.tenant_id = e.tenant_id AND x.thread_id = e.erasure_id AND x.deleted_at IS NOT NULL
                WHERE e.tenant_id = p_tenant AND e.parent_id = p_erasure);
            IF v_erasure.user_id <> '' THEN
                -- What the user said in other threads.
                EXECUTE format(
                    'SELECT count(*) FROM recollect.messages x
                     WHERE %s AND x.said_by <> '''' AND x.user_id <> $3 AND x.appended_at <= $4',
                    replace(v_scope, 'x.user_id', 'x.said_by'))
                INTO v_said
                USING p_tenant, v_erasure.app_id, v_erasure.user_id, v_until;
                remaining_count := remaining_count + v_said;
            END IF;
        END IF;
        deleted_count := COALESCE((v_counts ->> place)::bigint, 0);
        RETURN NEXT;
    END LOOP;
    -- The event of the deletion itself is delivered.
    place := 'subscription_events';
    deleted_count := COALESCE((v_counts ->> place)::bigint, 0);
    SELECT count(*) INTO remaining_count FROM recollect.subscription_events x
    WHERE x.tenant_id = p_tenant AND (v_erasure.app_id IS NULL OR x.app_id = v_erasure.app_id)
        AND (v_erasure.user_id IS NULL OR x.user_id = v_erasure.user_id)
        AND (v_erasure.kind = 'tenant' OR x.action NOT IN ('delete_user', 'delete_app'))
        AND x.created_at <= v_until;
    RETURN NEXT;
    -- By the threads that were erased.
    FOREACH place IN ARRAY recollect.thread_tables()
    LOOP
        EXECUTE format(
            'SELECT count(*) FROM recollect.erasures e
             JOIN recollect.%I x ON x.tenant_id = e.tenant_id AND x.thread_id = e.erasure_id
             WHERE e.tenant_id = $1 AND e.parent_id = $2', place)
        INTO remaining_count
        USING p_tenant, p_erasure;
        deleted_count := COALESCE((v_counts ->> place)::bigint, 0);
        RETURN NEXT;
    END LOOP;
    -- Content is erased with the last row that refers to it.
    place := 'contents';
    deleted_count := COALESCE((v_counts ->> 'contents')::bigint, 0) + COALESCE((v_counts ->> 'content_holders')::bigint, 0);
    SELECT count(*) INTO remaining_count FROM recollect.contents c
    WHERE c.tenant_id = p_tenant AND (v_erasure.kind = 'tenant' AND v_erasure.finished_at IS NULL OR NOT EXISTS (
        SELECT FROM recollect.content_holders h WHERE h.tenant_id = p_tenant AND h.digest = c.digest));
    RETURN NEXT;
    IF v_erasure.user_id IS NULL THEN
        place := 'app_policies';
        deleted_count := COALESCE((v_counts ->> place)::bigint, 0);
        SELECT count(*) INTO remaining_count FROM recollect.app_policies p
        WHERE p.tenant_id = p_tenant AND (v_erasure.app_id IS NULL OR p.app_id = v_erasure.app_id)
            AND p.updated_at <= v_until;
        RETURN NEXT;
    END IF;
    IF v_erasure.kind = 'tenant' THEN
        FOREACH place IN ARRAY ARRAY['api_keys', 'files', 'secrets', 'model_usage', 'subscriptions'] LOOP
            EXECUTE format(
                'SELECT count(*) FROM recollect.%I x WHERE x.tenant_id = $1 %s', place,
                CASE place WHEN 'api_keys' THEN 'AND x.name <> $2 AND x.created_at <= $3'
                    WHEN 'model_usage' THEN 'AND x.day < $3::date' ELSE 'AND x.created_at <= $3' END)
            INTO remaining_count
            USING p_tenant, v_erasure.actor, v_until;
            deleted_count := COALESCE((v_counts ->> place)::bigint, 0);
            RETURN NEXT;
        END LOOP;
    END IF;
END;
$$;
