-- The tables that have a column, but for some. A new table is erased and counted with its thread
-- and its tenant without being named anywhere.
CREATE OR REPLACE FUNCTION recollect.tables_with(p_column text, p_except text[])
RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT c.relname::text
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = p_column AND NOT a.attisdropped
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> ALL (p_except)
        ORDER BY c.relname);
END;
$$;
