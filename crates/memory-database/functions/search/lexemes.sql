-- The words of a text, or the lexemes of a scope, separated by spaces, as a row has them. The caller
-- has taken the text apart as the index does, so that both find the same.
CREATE OR REPLACE FUNCTION recollect.lexemes(p_words text)
RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(string_to_array(p_words, ' '))
$$;
