-- Whether a resource has the state that a caller requires. p_expected: null: any; '*': it
-- exists; empty: it does not exist; else its etag. p_current: its etag; null: it does not
-- exist.
CREATE OR REPLACE FUNCTION recollect.etag_matches(p_expected text, p_current text)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_expected
        WHEN '*' THEN p_current IS NOT NULL
        WHEN '' THEN p_current IS NULL
        ELSE p_expected IS NULL OR COALESCE(p_expected = p_current, false)
    END
$$;
