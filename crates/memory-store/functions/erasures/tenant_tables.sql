-- The tables with rows of a tenant that its deletion empties by tenant_id: all but the record of
-- changes, erasures and the queue to object storage with the writes that it waits for, which are
-- kept, and those that need care (see erase_tenant_rows).
CREATE OR REPLACE FUNCTION recollect.tenant_tables()
RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT c.relname::text
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
            AND c.relname NOT IN (
                'transactions', 'erasures', 'object_deletions', 'object_writes', 'outbox', 'api_keys', 'contents', 'ephemeral_totals')
        ORDER BY c.relname);
END;
$$;
