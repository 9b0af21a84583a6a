-- Takes the words of a query apart: at most 64 lexemes, each with the tsquery that finds
-- it. In SQL, so that Postgres inlines it into the functions that match words.
CREATE OR REPLACE FUNCTION recollect.query_terms(p_words text)
RETURNS TABLE (term text, query tsquery)
LANGUAGE sql STABLE AS $$
    SELECT t.term, ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery
    FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', p_words))) AS t (term)
    LIMIT 64
$$;

GRANT EXECUTE ON FUNCTION recollect.query_terms(text) TO recollect_search;
