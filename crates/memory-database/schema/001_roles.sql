CREATE SCHEMA IF NOT EXISTS recollect;

-- The files of schema/ that were applied to this database.
CREATE TABLE recollect.schema_files (
    number integer PRIMARY KEY,
    name text NOT NULL,
    -- Hexadecimal, of the file as it was applied.
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Each migration that changed this database; the newest row describes its functions.
CREATE TABLE recollect.schema_releases (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Hexadecimal, of all files of schema/ and functions/ together.
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The release that applied the functions, such as 0.2.0. An older release leaves the
    -- functions of a newer one.
    release text NOT NULL DEFAULT ''
);

-- The roles that the service acts as. None can log in and none owns a table, so row-level
-- security binds all of them. Roles belong to the cluster: another database, or an
-- administrator, may have created them already.
DO $$
DECLARE
    v_role text;
    v_privilege text := 'MEMBER';
BEGIN
    -- Since version 16 the creator of a role is a member, but may not SET ROLE to it.
    IF current_setting('server_version_num')::integer >= 160000 THEN
        v_privilege := 'SET';
    END IF;
    FOREACH v_role IN ARRAY ARRAY['recollect_service', 'recollect_worker', 'recollect_search', 'recollect_auth'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN
                    NULL; -- Another migration of the cluster created it just now.
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'the user "%" may not create the role "%"', current_user, v_role
                        USING ERRCODE = 'insufficient_privilege',
                              HINT = format('As a superuser: CREATE ROLE %I NOLOGIN; GRANT %I TO %I;',
                                            v_role, v_role, current_user);
            END;
        END IF;
        IF NOT pg_has_role(current_user, v_role, v_privilege) THEN
            BEGIN
                EXECUTE format('GRANT %I TO CURRENT_USER', v_role);
            EXCEPTION
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'the user "%" is no member of the role "%"', current_user, v_role
                        USING ERRCODE = 'insufficient_privilege',
                              HINT = format('As a superuser: GRANT %I TO %I;', v_role, current_user);
            END;
        END IF;
    END LOOP;
END;
$$;

-- What each role may do with a table stands below the table. Row-level security further limits
-- recollect_service to the tenant that its transaction names (functions/access.sql). Workers
-- serve all tenants: they see what waits, and no content.
GRANT USAGE ON SCHEMA recollect TO recollect_service, recollect_worker, recollect_search, recollect_auth;

-- Every server compares the schema with the one that it was built for.
GRANT SELECT ON recollect.schema_files, recollect.schema_releases TO recollect_service, recollect_worker;
