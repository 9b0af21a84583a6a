-- Applied before all functions: whether the user who migrates may replace them. The functions that
-- read for all tenants belong to roles of their own, and only a user who inherits the
-- rights of these roles can replace them and grant their use. With SET ROLE alone the first
-- migration would pass, without these grants, and the next one fail.
DO $$
DECLARE
    v_role text;
    v_remedy text := 'ALTER ROLE %1$I INHERIT; GRANT %2$I TO %1$I';
BEGIN
    FOREACH v_role IN ARRAY ARRAY['recollect_search', 'recollect_auth'] LOOP
        CONTINUE WHEN pg_has_role(current_user, v_role, 'USAGE');
        -- Since version 16 each membership is inherited or not.
        IF current_setting('server_version_num')::integer >= 160000 THEN
            v_remedy := 'GRANT %2$I TO %1$I WITH INHERIT TRUE, SET TRUE';
            BEGIN
                EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT TRUE', v_role);
                CONTINUE;
            EXCEPTION
                WHEN insufficient_privilege THEN
                    NULL; -- Only who administers the role may.
            END;
        END IF;
        RAISE EXCEPTION 'the user "%" does not inherit the rights of the role "%"', current_user, v_role
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('As a superuser: ' || v_remedy || ';', current_user, v_role);
    END LOOP;
END;
$$;
