-- Ends a reservation, and records the cost of the request. A reservation that has
-- expired counted as spent, and stays so.
CREATE OR REPLACE FUNCTION recollect.settle_tokens(
    p_tenant text, p_reservation uuid, p_failed boolean, p_input bigint, p_output bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_model text;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    DELETE FROM recollect.model_reservations r
    WHERE r.tenant_id = p_tenant AND r.reservation_id = p_reservation
    RETURNING r.model INTO v_model;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM recollect.add_model_usage(p_tenant, 'language', v_model, 1, p_failed::integer, p_input, p_output);
END;
$$;
