-- Whether the bounds of the transaction's caller allow an id of a kind, `app` or `user`. A null id stands for all of them.
-- The bounds are in the setting recollect.bounds, as in api_keys.bounds; empty: there are none.
CREATE OR REPLACE FUNCTION recollect.allowed(p_kind text, p_id text)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_bounds jsonb := COALESCE(NULLIF(current_setting('recollect.bounds', true), ''), '{}')::jsonb;
    v_ids text := p_kind || '_ids';
    v_prefixes text := p_kind || '_id_prefixes';
BEGIN
    RETURN NOT v_bounds ?| ARRAY[v_ids, v_prefixes]
        OR COALESCE(v_bounds -> v_ids ? p_id, false)
        OR EXISTS (
            SELECT FROM jsonb_array_elements_text(v_bounds -> v_prefixes) AS prefix
            WHERE starts_with(p_id, prefix)
        );
END;
$$;
