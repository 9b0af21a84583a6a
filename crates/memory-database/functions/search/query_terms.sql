-- The words of a query, separated by spaces: at most 64, each with the tsquery that finds
-- it. In SQL, so that Postgres inlines it into the functions that match words.
CREATE OR REPLACE FUNCTION recollect.query_terms(p_words text)
RETURNS TABLE (term text, query tsquery)
LANGUAGE sql STABLE AS $$
    SELECT t.term, ('''' || t.term || '''')::tsquery
    FROM (SELECT DISTINCT unnest(string_to_array(p_words, ' '))) AS t (term)
    LIMIT 64
$$;

GRANT EXECUTE ON FUNCTION recollect.query_terms(text) TO recollect_search;
