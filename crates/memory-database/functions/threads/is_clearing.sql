-- Whether a thread is hidden because it is cleared in steps. Volatile, so that a statement that
-- waited for the thread's row sees changes committed meanwhile.
CREATE OR REPLACE FUNCTION recollect.is_clearing(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM recollect.erasures e
        WHERE e.tenant_id = p_tenant AND e.erasure_id = p_thread AND e.step = 'clear');
END;
$$;
