-- Fails if a user has more memories than the app's policy keeps, for callers that may not
-- erase: a memory beyond that number erases another one. p_item is the first item of the
-- call, whose field keep_others is set for such callers. The caller holds lock_memories.
CREATE OR REPLACE FUNCTION recollect.check_memory_count(p_tenant text, p_app text, p_user text, p_item jsonb)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_max integer;
BEGIN
    IF (p_item ->> 'keep_others')::boolean IS NOT TRUE THEN
        RETURN;
    END IF;
    v_max := COALESCE(
        (SELECT (p.policy ->> 'memory_max_count')::integer FROM recollect.app_policies p
         WHERE p.tenant_id = p_tenant AND p.app_id = p_app),
        (recollect.server_policy() ->> 'memory_max_count')::integer,
        10000);
    IF (SELECT count(*) FROM (
            SELECT FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND m.user_id = p_user
            LIMIT v_max + 1) AS u) > v_max
    THEN
        RAISE EXCEPTION 'the user has more memories than are kept' USING ERRCODE = 'RC002';
    END IF;
END;
$$;
