-- Whether fields of a document equal lists and objects, or do not, as document_filter returns them.
CREATE OR REPLACE FUNCTION recollect.document_equals(p_value jsonb, p_names jsonb[], p_wanted jsonb[], p_equal boolean[])
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_found jsonb;
    v_name text;
BEGIN
    FOR i IN 1 .. cardinality(p_equal) LOOP
        v_found := p_value;
        -- Not with #>, which takes a number as a place in a list.
        FOREACH v_name IN ARRAY recollect.json_to_texts(p_names[i]) LOOP
            v_found := CASE WHEN jsonb_typeof(v_found) = 'object' THEN v_found -> v_name END;
        END LOOP;
        IF (COALESCE(v_found, 'null') = p_wanted[i]) <> p_equal[i] THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END;
$$;
