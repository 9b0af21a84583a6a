-- Compiles conditions into forms that Postgres tests fast. For each condition p_fields has the path
-- of a field as a JSON list of names, p_operators has eq, ne, gt, gte, lt or lte, and p_values a
-- value as JSON. An absent field counts as null. Numbers are ordered among numbers, texts among
-- texts.
CREATE OR REPLACE FUNCTION recollect.document_filter(
    p_owner bytea, p_fields text[], p_operators text[], p_values text[],
    -- What must match a document's value, and its variables; null: everything matches.
    OUT path jsonpath, OUT vars jsonb,
    -- The conditions that the path cannot express: on lists and objects; null: none.
    OUT names jsonb[], OUT wanted jsonb[], OUT equal boolean[],
    -- The terms of a matching document in the index; null: the index does not help.
    OUT terms bigint[]
)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_path text;
    v_field text;
    v_var text;
    v_type text;
    v_operator text;
    v_value jsonb;
BEGIN
    FOR i IN 1 .. COALESCE(cardinality(p_operators), 0) LOOP
        v_value := p_values[i]::jsonb;
        v_type := jsonb_typeof(v_value);
        v_operator := p_operators[i];
        IF v_operator IN ('eq', 'ne') AND v_type IN ('array', 'object') THEN
            names := names || p_fields[i]::jsonb;
            wanted := wanted || v_value;
            equal := equal || (v_operator = 'eq');
            CONTINUE;
        END IF;
        -- In strict mode the field of a list is unknown, not that of its elements.
        SELECT '$' || string_agg('.' || to_json(n.name)::text, '' ORDER BY n.place) INTO v_field
        FROM jsonb_array_elements_text(p_fields[i]::jsonb) WITH ORDINALITY AS n (name, place);
        v_var := format('$"%s"', i);
        vars := COALESCE(vars, '{}') || jsonb_build_object(i::text, v_value);
        v_path := concat_ws(' && ', v_path, CASE
            WHEN v_operator = 'eq' AND v_type = 'null' THEN
                format('(exists (%1$s ? (@ == null)) || (exists (%1$s)) is unknown)', v_field)
            WHEN v_operator = 'eq' THEN format('exists (%s ? (@ == %s))', v_field, v_var)
            WHEN v_operator = 'ne' AND v_type = 'null' THEN format('exists (%s ? (@ != null))', v_field)
            WHEN v_operator = 'ne' THEN
                format('(!(exists (%1$s ? (@ == %2$s))) || (exists (%1$s)) is unknown)', v_field, v_var)
            WHEN v_type IN ('number', 'string') THEN
                format('exists (%s ? (@.type() == "%s" && @ %s %s))', v_field, v_type,
                    CASE v_operator WHEN 'gt' THEN '>' WHEN 'gte' THEN '>=' WHEN 'lt' THEN '<' WHEN 'lte' THEN '<=' END, v_var)
            -- Nothing else has an order.
            ELSE '1 == 2' END);
        IF v_operator = 'eq' AND v_type <> 'null' AND jsonb_array_length(p_fields[i]::jsonb) = 1 THEN
            terms := terms || recollect.document_term(p_owner, p_fields[i]::jsonb ->> 0, v_value);
        END IF;
    END LOOP;
    path := ('strict ' || v_path)::jsonpath;
END;
$$;
