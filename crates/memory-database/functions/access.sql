-- Applied after all functions, with every migration that applies them.

-- Tenant isolation: a transaction sees the rows of the tenant that it names, or none,
-- also where a query forgets its condition. Forced, so that the owner is bound too.
DO $$
DECLARE
    v_table regclass;
BEGIN
    FOR v_table IN
        SELECT c.oid
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant')
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format($policy$
            CREATE POLICY tenant ON %s TO recollect_service
            USING (tenant_id = current_setting('recollect.tenant', true))
            WITH CHECK (tenant_id = current_setting('recollect.tenant', true))
        $policy$, v_table);
    END LOOP;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
GRANT EXECUTE ON FUNCTION recollect.serving_collection(), recollect.collection_number(text),
    recollect.open_collections(text, text), recollect.add_collection(text, text), recollect.list_collections(),
    recollect.switch_collection(text, boolean), recollect.retire_collection(text),
    recollect.make_due(text, text, text, double precision, bigint)
    TO recollect_worker;
