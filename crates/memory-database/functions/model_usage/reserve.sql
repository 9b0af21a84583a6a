-- Reserves tokens for one request, if they are left of today's budget; a budget of 0 is
-- unlimited.
CREATE OR REPLACE FUNCTION recollect.reserve_tokens(
    p_tenant text, p_reservation uuid, p_model text, p_input bigint, p_output bigint, p_budget bigint,
    p_keep double precision
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_spent bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    -- One at a time: two concurrent calls could reserve the same tokens.
    PERFORM pg_advisory_xact_lock(hashtextextended('model_usage' || chr(1) || p_tenant, 0));
    WITH lost AS (
        DELETE FROM recollect.model_reservations r
        WHERE r.tenant_id = p_tenant AND r.expires_at <= clock_timestamp()
        RETURNING r.day, r.model, r.input_tokens, r.output_tokens
    )
    INSERT INTO recollect.model_usage AS u
        (tenant_id, day, kind, model, call_count, failed_count, input_tokens, output_tokens)
    SELECT p_tenant, lost.day, 'language', lost.model, count(*), count(*), sum(lost.input_tokens), sum(lost.output_tokens)
    FROM lost
    GROUP BY lost.day, lost.model
    ON CONFLICT (tenant_id, day, kind, model) DO UPDATE
    SET call_count = u.call_count + EXCLUDED.call_count, failed_count = u.failed_count + EXCLUDED.failed_count,
        input_tokens = u.input_tokens + EXCLUDED.input_tokens,
        output_tokens = u.output_tokens + EXCLUDED.output_tokens;
    IF p_budget > 0 THEN
        SELECT COALESCE((SELECT sum(u.input_tokens + u.output_tokens) FROM recollect.model_usage u
                         WHERE u.tenant_id = p_tenant AND u.day = recollect.usage_day() AND u.kind = 'language'), 0)
            + COALESCE((SELECT sum(r.input_tokens + r.output_tokens) FROM recollect.model_reservations r
                        WHERE r.tenant_id = p_tenant), 0)
        INTO v_spent;
        IF v_spent + p_input + p_output > p_budget THEN
            RETURN false;
        END IF;
    END IF;
    INSERT INTO recollect.model_reservations
        (tenant_id, reservation_id, day, model, input_tokens, output_tokens, expires_at)
    VALUES
        (p_tenant, p_reservation, recollect.usage_day(), p_model, p_input, p_output,
         clock_timestamp() + make_interval(secs => p_keep));
    RETURN true;
END;
$$;
