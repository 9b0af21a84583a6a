-- Raises RC003 for a thread that is cleared in steps; otherwise false. For conditions on a thread
-- that is named, after its expiry: `expires_at > clock_timestamp() OR refuse_clearing(…)`.
CREATE OR REPLACE FUNCTION recollect.refuse_clearing(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF recollect.is_clearing(p_tenant, p_thread) THEN
        RAISE EXCEPTION 'the thread is being cleared' USING ERRCODE = 'RC003';
    END IF;
    RETURN false;
END;
$$;
