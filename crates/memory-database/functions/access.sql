-- Applied after all functions, with every migration that applies them.

-- Isolation: a transaction sees the rows of the tenant that it names, or none, also where a query
-- forgets its condition; where its caller is bound to apps or users, of these alone. Forced, so that
-- the owner is bound too.
DO $$
DECLARE
    v_table regclass;
    v_name text;
    v_columns name[];
    v_tenant text := $policy$tenant_id = current_setting('recollect.tenant', true)$policy$;
    -- As recollect.is_unbound(); without bounds no row calls a function.
    v_unbound text := $policy$COALESCE(current_setting('recollect.bounds', true), '') = ''$policy$;
    v_bounds text;
    v_written text;
BEGIN
    FOR v_table, v_name, v_columns IN
        SELECT c.oid, c.relname, ARRAY(
            SELECT o.attname FROM pg_catalog.pg_attribute o WHERE o.attrelid = c.oid AND NOT o.attisdropped)
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant')
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', v_table);
        v_bounds := CASE
            -- An erasure stops others from creating what it erases.
            WHEN v_name = 'erasures' THEN 'true'
            -- A change is an event of each that wants it, whatever its caller reaches.
            WHEN v_name = 'subscriptions' THEN 'true'
            -- All its users need an app's policy.
            WHEN v_name = 'app_policies' THEN $policy$recollect.allowed('app', app_id)$policy$
            -- A memory may be made of what its user said in a thread of another one.
            WHEN v_name = 'memory_sources' THEN
                $policy$(recollect.thread_in_bounds(tenant_id, thread_id) OR EXISTS (
                    SELECT FROM recollect.memories o
                    WHERE o.tenant_id = memory_sources.tenant_id AND o.memory_id = memory_sources.memory_id))$policy$
            WHEN v_columns @> ARRAY['app_id', 'user_id']::name[] THEN 'recollect.in_bounds(app_id, user_id)'
            WHEN 'thread_id' = ANY (v_columns) THEN
                '(thread_id IS NULL OR recollect.thread_in_bounds(tenant_id, thread_id))'
            ELSE 'true'
        END;
        v_written := CASE v_name
            WHEN 'erasures' THEN $policy$(kind = 'thread' OR recollect.in_bounds(app_id, user_id))$policy$
            WHEN 'app_policies' THEN 'recollect.in_bounds(app_id, NULL)'
            WHEN 'subscription_events' THEN 'true'
            ELSE v_bounds
        END;
        EXECUTE format('CREATE POLICY tenant ON %s TO recollect_service USING (%s AND (%s OR %s)) WITH CHECK (%2$s AND (%3$s OR %5$s))',
                       v_table, v_tenant, v_unbound, v_bounds, v_written);
    END LOOP;
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_policy p
        WHERE p.polrelid = 'recollect.messages'::regclass AND p.polname = 'said_by')
    THEN
        -- Who is bound to users says nothing in another one's name.
        EXECUTE format(
            'CREATE POLICY said_by ON recollect.messages AS RESTRICTIVE FOR INSERT TO recollect_service
             WITH CHECK (said_by = '''' OR %s OR recollect.allowed(''user'', said_by))', v_unbound);
    END IF;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
GRANT EXECUTE ON FUNCTION recollect.serving_collection(), recollect.collection_number(text),
    recollect.open_collections(text, text), recollect.add_collection(text, text), recollect.list_collections(),
    recollect.switch_collection(text, boolean), recollect.retire_collection(text),
    recollect.make_due(text, text, text, double precision, bigint), recollect.event_queues(),
    recollect.sweep_events(text, bigint, double precision, bigint, bigint)
    TO recollect_worker;
