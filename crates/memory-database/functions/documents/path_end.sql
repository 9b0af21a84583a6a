-- The upper bound, exclusive, of the paths that begin with this one.
CREATE OR REPLACE FUNCTION recollect.document_path_end(p_path text)
RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_path
        -- No label is as long.
        WHEN '' THEN repeat(chr(1114111), 1024)
        ELSE left(p_path, -1) || chr(2) END
$$;
