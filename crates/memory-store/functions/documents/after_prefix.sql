-- The upper bound, exclusive, of the namespaces below this prefix; null for no labels. No text sorts
-- between a label and the same label with chr(1) appended.
CREATE OR REPLACE FUNCTION recollect.after_prefix(p_prefix text[])
RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN cardinality(p_prefix) > 0
        THEN p_prefix[:cardinality(p_prefix) - 1] || (p_prefix[cardinality(p_prefix)] || chr(1)) END
$$;
