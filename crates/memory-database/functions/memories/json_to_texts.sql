-- The elements of a JSON list of texts, in order.
CREATE OR REPLACE FUNCTION recollect.json_to_texts(p_list jsonb)
RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT e.value FROM jsonb_array_elements_text(p_list) WITH ORDINALITY AS e (value, place)
                 ORDER BY e.place)
$$;
