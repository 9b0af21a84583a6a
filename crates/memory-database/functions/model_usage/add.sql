-- Adds requests to today's usage of a model, and deletes days that cannot be requested any more.
CREATE OR REPLACE FUNCTION recollect.add_model_usage(
    p_tenant text, p_kind text, p_model text, p_calls bigint, p_failed bigint, p_input bigint, p_output bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_calls bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    INSERT INTO recollect.model_usage AS u
        (tenant_id, day, kind, model, call_count, failed_count, input_tokens, output_tokens)
    VALUES (p_tenant, recollect.usage_day(), p_kind, p_model, p_calls, p_failed, p_input, p_output)
    ON CONFLICT (tenant_id, day, kind, model) DO UPDATE
    SET call_count = u.call_count + EXCLUDED.call_count, failed_count = u.failed_count + EXCLUDED.failed_count,
        input_tokens = u.input_tokens + EXCLUDED.input_tokens,
        output_tokens = u.output_tokens + EXCLUDED.output_tokens
    RETURNING u.call_count INTO v_calls;
    -- Once a day.
    IF v_calls = p_calls THEN
        DELETE FROM recollect.model_usage u
        WHERE u.tenant_id = p_tenant AND u.day < recollect.usage_day() - 366;
    END IF;
END;
$$;
