-- Whether the transaction's caller reaches the whole tenant.
CREATE OR REPLACE FUNCTION recollect.is_unbound()
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(current_setting('recollect.bounds', true), '') = ''
$$;
