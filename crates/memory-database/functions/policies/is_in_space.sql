-- Whether an app is in a memory space now.
CREATE OR REPLACE FUNCTION recollect.is_in_space(p_tenant text, p_app text, p_space text)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM recollect.app_policies p
        WHERE p.tenant_id = p_tenant AND p.app_id = p_app AND p.memory_space = p_space)
$$;
