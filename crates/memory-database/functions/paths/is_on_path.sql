-- Whether a place is on a path, given as the arrays of recollect.path_arrays. Branch 0 is
-- the place before the first message, which is on every path. In SQL and without a
-- subquery, so that Postgres inlines it.
CREATE OR REPLACE FUNCTION recollect.is_on_path(
    p_branches integer[], p_depths integer[], p_branch integer, p_depth integer
)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_branch = 0 OR COALESCE(p_depths[array_position(p_branches, p_branch)] >= p_depth, false)
$$;
