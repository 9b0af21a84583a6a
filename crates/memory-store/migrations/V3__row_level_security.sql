-- A transaction that names no tenant sees nothing, also where a query forgets
-- its condition. Forced, so that the owner is bound too.
DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['threads', 'branches', 'messages', 'outbox', 'requests'] LOOP
        EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format($policy$
            CREATE POLICY tenant ON recollect.%I TO recollect_service
            USING (tenant_id = current_setting('recollect.tenant', true))
            WITH CHECK (tenant_id = current_setting('recollect.tenant', true))
        $policy$, v_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO recollect_service', v_table);
    END LOOP;
END;
$$;

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
