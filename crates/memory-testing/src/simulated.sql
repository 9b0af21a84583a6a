-- A clock that stands still until a test moves it. `simulated` comes before `pg_catalog` on the search path
-- of the database, so the statements of the service read this clock.
CREATE SCHEMA simulated;
CREATE TABLE simulated.clock (since_epoch interval NOT NULL);
INSERT INTO simulated.clock VALUES (timestamptz '2030-01-01 12:00:00Z' - 'epoch');

CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$ SELECT timestamptz 'epoch' + since_epoch FROM simulated.clock $$;

CREATE FUNCTION simulated.now() RETURNS timestamptz
LANGUAGE sql STABLE AS $$ SELECT timestamptz 'epoch' + since_epoch FROM simulated.clock $$;

-- Defaults were bound to the real clock when the tables were created.
DO $$
DECLARE
    v_column record;
BEGIN
    FOR v_column IN
        SELECT d.adrelid::regclass AS relation, a.attname
        FROM pg_attrdef d
        JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE pg_get_expr(d.adbin, d.adrelid) IN ('clock_timestamp()', 'now()')
    LOOP
        EXECUTE format(
            'ALTER TABLE %s ALTER COLUMN %I SET DEFAULT simulated.clock_timestamp()',
            v_column.relation, v_column.attname);
    END LOOP;
END;
$$;

-- Deletes all rows of the service, and sets the clock to its beginning. A database for each simulation would cost more than the simulation.
CREATE FUNCTION simulated.clear() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_table regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR v_table IN
        SELECT c.oid::regclass FROM pg_class c
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND c.relname NOT LIKE 'schema%'
    LOOP
        EXECUTE format('DELETE FROM %s', v_table);
    END LOOP;
    UPDATE simulated.clock SET since_epoch = timestamptz '2030-01-01 12:00:00Z' - 'epoch';
END;
$$;

GRANT USAGE ON SCHEMA simulated TO PUBLIC;
GRANT SELECT ON simulated.clock TO PUBLIC;
