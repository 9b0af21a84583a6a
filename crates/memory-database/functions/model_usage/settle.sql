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
    v_calls bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    DELETE FROM recollect.model_reservations r
    WHERE r.tenant_id = p_tenant AND r.reservation_id = p_reservation
    RETURNING r.model INTO v_model;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO recollect.model_usage AS u
        (tenant_id, day, model, call_count, failed_count, input_tokens, output_tokens)
    VALUES (p_tenant, recollect.usage_day(), v_model, 1, p_failed::integer, p_input, p_output)
    ON CONFLICT (tenant_id, day, model) DO UPDATE
    SET call_count = u.call_count + 1, failed_count = u.failed_count + EXCLUDED.failed_count,
        input_tokens = u.input_tokens + EXCLUDED.input_tokens,
        output_tokens = u.output_tokens + EXCLUDED.output_tokens
    RETURNING u.call_count INTO v_calls;
    -- Once a day. Older days cannot be requested.
    IF v_calls = 1 THEN
        DELETE FROM recollect.model_usage u
        WHERE u.tenant_id = p_tenant AND u.day < recollect.usage_day() - 366;
    END IF;
END;
$$;
