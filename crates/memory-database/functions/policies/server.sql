-- The fields that the server's configuration sets, as far as SQL reads them. Each connection
-- of the server has them as a setting.
CREATE OR REPLACE FUNCTION recollect.server_policy()
RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(NULLIF(current_setting('recollect.policy', true), ''), '{}')::jsonb
$$;
