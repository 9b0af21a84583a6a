-- Forgets what the app's policy does not keep; without a number in it, more than
-- p_max_count of a user.
CREATE OR REPLACE FUNCTION recollect.forget_by_policy(
    p_tenant text, p_actor text, p_app text, p_max_count integer, p_limit integer,
    OUT forgotten bigint, OUT more boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_policy jsonb;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT p.policy INTO v_policy FROM recollect.app_policies p
    WHERE p.tenant_id = p_tenant AND p.app_id = p_app;
    SELECT f.forgotten, f.more INTO forgotten, more
    FROM recollect.forget_memories(
        p_tenant, p_actor, p_app, '', true,
        (v_policy #>> '{memory_max_age,secs}')::double precision,
        (v_policy #>> '{memory_max_inactivity,secs}')::double precision,
        COALESCE((v_policy ->> 'memory_max_count')::integer, p_max_count),
        false, p_limit, 0) AS f;
END;
$$;
