-- Whether the transaction's caller reaches the data of a user of an app. An empty user is data that belongs to no user;
-- a null one is that of all users, and a null app is all apps.
CREATE OR REPLACE FUNCTION recollect.in_bounds(p_app text, p_user text)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_bounds jsonb := COALESCE(NULLIF(current_setting('recollect.bounds', true), ''), '{}')::jsonb;
BEGIN
    RETURN recollect.app_in_bounds(p_app) AND (
        NOT v_bounds ?| ARRAY['user_ids', 'user_id_prefixes']
        OR COALESCE(v_bounds -> 'user_ids' ? p_user, false)
        OR EXISTS (
            SELECT FROM jsonb_array_elements_text(v_bounds -> 'user_id_prefixes') AS prefix
            WHERE starts_with(p_user, prefix)
        )
    );
END;
$$;
