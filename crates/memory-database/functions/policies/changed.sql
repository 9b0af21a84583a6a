-- A policy after a change: with p_replace it is p_set, otherwise the fields p_clear are
-- removed, and the fields of p_set replace the stored ones.
CREATE OR REPLACE FUNCTION recollect.policy_changed(p_policy jsonb, p_replace boolean, p_clear text[], p_set jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_replace THEN p_set ELSE (p_policy - p_clear) || p_set END
$$;
