-- Whether the transaction's caller reaches the data of an app, as far as its users do not matter. Null: all apps.
-- The caller's bounds are in the setting recollect.bounds, as in api_keys.bounds; empty: there are none.
CREATE OR REPLACE FUNCTION recollect.app_in_bounds(p_app text)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_bounds jsonb := COALESCE(NULLIF(current_setting('recollect.bounds', true), ''), '{}')::jsonb;
BEGIN
    RETURN NOT v_bounds ?| ARRAY['app_ids', 'app_id_prefixes']
        OR COALESCE(v_bounds -> 'app_ids' ? p_app, false)
        OR EXISTS (
            SELECT FROM jsonb_array_elements_text(v_bounds -> 'app_id_prefixes') AS prefix
            WHERE starts_with(p_app, prefix)
        );
END;
$$;
