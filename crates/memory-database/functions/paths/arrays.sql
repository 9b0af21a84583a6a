-- recollect.path as arrays, the newest branch first; empty arrays without a place.
CREATE OR REPLACE FUNCTION recollect.path_arrays(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer,
    OUT branches integer[], OUT above integer[], OUT depths integer[]
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT COALESCE(array_agg(p.branch ORDER BY p.place), '{}'), COALESCE(array_agg(p.above ORDER BY p.place), '{}'),
        COALESCE(array_agg(p.depth ORDER BY p.place), '{}')
    INTO branches, above, depths
    FROM recollect.path(p_tenant, p_thread, p_branch, p_depth) WITH ORDINALITY AS p (branch, above, depth, place);
END;
$$;
