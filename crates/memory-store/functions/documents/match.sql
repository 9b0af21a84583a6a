-- Whether a document's value meets all conditions: of each the path of a field as a JSON list
-- of names, the operator (eq, ne, gt, gte, lt, lte) and a value as JSON. A field that is absent
-- counts as null. Numbers and texts have an order, each among themselves.
CREATE OR REPLACE FUNCTION recollect.document_matches(
    p_value jsonb, p_fields text[], p_operators text[], p_values text[]
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_found jsonb;
    v_name text;
    v_wanted jsonb;
    v_order integer;
BEGIN
    FOR i IN 1 .. COALESCE(cardinality(p_operators), 0) LOOP
        v_found := p_value;
        -- Not with #>, which takes a number as a place in a list.
        FOREACH v_name IN ARRAY recollect.json_to_texts(p_fields[i]::jsonb) LOOP
            v_found := CASE WHEN jsonb_typeof(v_found) = 'object' THEN v_found -> v_name END;
        END LOOP;
        v_found := COALESCE(v_found, 'null');
        v_wanted := p_values[i]::jsonb;
        IF p_operators[i] = 'eq' THEN
            CONTINUE WHEN v_found = v_wanted;
            RETURN false;
        ELSIF p_operators[i] = 'ne' THEN
            CONTINUE WHEN v_found <> v_wanted;
            RETURN false;
        END IF;
        IF jsonb_typeof(v_found) = 'number' AND jsonb_typeof(v_wanted) = 'number' THEN
            v_order := CASE
                WHEN (v_found #>> '{}')::numeric < (v_wanted #>> '{}')::numeric THEN -1
                WHEN (v_found #>> '{}')::numeric > (v_wanted #>> '{}')::numeric THEN 1
                ELSE 0 END;
        ELSIF jsonb_typeof(v_found) = 'string' AND jsonb_typeof(v_wanted) = 'string' THEN
            v_order := CASE
                WHEN (v_found #>> '{}') COLLATE "C" < (v_wanted #>> '{}') COLLATE "C" THEN -1
                WHEN (v_found #>> '{}') COLLATE "C" > (v_wanted #>> '{}') COLLATE "C" THEN 1
                ELSE 0 END;
        ELSE
            RETURN false;
        END IF;
        CONTINUE WHEN CASE p_operators[i]
            WHEN 'gt' THEN v_order > 0
            WHEN 'gte' THEN v_order >= 0
            WHEN 'lt' THEN v_order < 0
            WHEN 'lte' THEN v_order <= 0
            ELSE false END;
        RETURN false;
    END LOOP;
    RETURN true;
END;
$$;
