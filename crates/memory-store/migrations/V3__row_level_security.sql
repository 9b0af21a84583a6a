-- Gives each tenant its own rows of tables. A transaction that names no tenant sees
-- nothing, also where a query forgets its condition. Forced, so that the owner is
-- bound too.
CREATE FUNCTION recollect.isolate(VARIADIC p_tables text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY p_tables LOOP
        EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format($policy$
            CREATE POLICY tenant ON recollect.%I TO recollect_service
            USING (tenant_id = current_setting('recollect.tenant', true))
            WITH CHECK (tenant_id = current_setting('recollect.tenant', true))
        $policy$, v_table);
    END LOOP;
END;
$$;

SELECT recollect.isolate('threads', 'branches', 'messages', 'outbox', 'requests');
GRANT SELECT, INSERT, UPDATE, DELETE
    ON recollect.threads, recollect.branches, recollect.messages, recollect.outbox, recollect.requests
    TO recollect_service;

-- Workers serve all tenants. They see that there is work, and no content.
CREATE POLICY worker ON recollect.outbox TO recollect_worker USING (true);
GRANT SELECT, UPDATE, DELETE ON recollect.outbox TO recollect_worker;
GRANT USAGE ON SEQUENCE recollect.dead_letters TO recollect_worker;

CREATE POLICY worker ON recollect.requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.requests TO recollect_worker;

CREATE POLICY worker ON recollect.threads FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, expires_at) ON recollect.threads TO recollect_worker;

-- Whoever connects checks that the schema is the one it was built for.
GRANT SELECT ON recollect.schema_history TO recollect_service, recollect_worker;
