-- The id that an imported memory of a user has or gets: its own; or, where a memory of
-- another user has that, one that follows from it, so that a repeated import finds the memory.
CREATE OR REPLACE FUNCTION recollect.imported_id(p_tenant text, p_app text, p_user text, p_id uuid)
RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(
        (SELECT m.memory_id FROM recollect.memories m
         WHERE m.tenant_id = p_tenant AND m.memory_id IN (p_id, other.id)
             AND m.app_id = p_app AND m.user_id = p_user
         LIMIT 1),
        CASE
            WHEN EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.memory_id = p_id) THEN other.id
            ELSE p_id
        END)
    FROM (SELECT md5('imported' || chr(1) || p_app || chr(1) || p_user || chr(1) || p_id)::uuid) AS other (id)
$$;
