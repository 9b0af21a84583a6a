-- What language models cost: what was spent of it, by day and model, and what is
-- set aside for calls that are under way.

CREATE TABLE recollect.model_usage (
    tenant_id text NOT NULL,
    -- In UTC.
    day date NOT NULL,
    model text NOT NULL,
    call_count bigint NOT NULL DEFAULT 0,
    failed_count bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, model)
);

CREATE TABLE recollect.model_reservations (
    tenant_id text NOT NULL,
    reservation_id uuid NOT NULL,
    tokens bigint NOT NULL CHECK (tokens >= 0),
    -- Whoever made it is dead by then.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, reservation_id)
);

DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['model_usage', 'model_reservations'] LOOP
        EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format($policy$
            CREATE POLICY tenant ON recollect.%I TO recollect_service
            USING (tenant_id = current_setting('recollect.tenant', true))
            WITH CHECK (tenant_id = current_setting('recollect.tenant', true))
        $policy$, v_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO recollect_service', v_table);
    END LOOP;
END;
$$;

-- Today, for the ledger.
CREATE FUNCTION recollect.ledger_day()
RETURNS date
LANGUAGE sql STABLE AS $$
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date
$$;

-- Sets tokens aside for one call, where today's budget has as many left.
CREATE FUNCTION recollect.reserve_tokens(
    p_tenant text, p_reservation uuid, p_tokens bigint, p_budget bigint, p_keep double precision
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_spent bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    -- One at a time: two that do not see each other could spend the same tokens.
    PERFORM pg_advisory_xact_lock(hashtextextended('model_usage' || chr(1) || p_tenant, 0));
    DELETE FROM recollect.model_reservations r
    WHERE r.tenant_id = p_tenant AND r.expires_at <= clock_timestamp();
    SELECT COALESCE((SELECT sum(u.input_tokens + u.output_tokens) FROM recollect.model_usage u
                     WHERE u.tenant_id = p_tenant AND u.day = recollect.ledger_day()), 0)
        + COALESCE((SELECT sum(r.tokens) FROM recollect.model_reservations r
                    WHERE r.tenant_id = p_tenant), 0)
    INTO v_spent;
    IF v_spent + p_tokens > p_budget THEN
        RETURN false;
    END IF;
    INSERT INTO recollect.model_reservations (tenant_id, reservation_id, tokens, expires_at)
    VALUES (p_tenant, p_reservation, p_tokens, clock_timestamp() + make_interval(secs => p_keep));
    RETURN true;
END;
$$;

-- Ends a reservation, and notes what the call did cost; without a model, that it
-- was not made.
CREATE FUNCTION recollect.settle_tokens(
    p_tenant text, p_reservation uuid, p_model text, p_failed boolean, p_input bigint, p_output bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_calls bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    DELETE FROM recollect.model_reservations r
    WHERE r.tenant_id = p_tenant AND r.reservation_id = p_reservation;
    IF p_model IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO recollect.model_usage AS u
        (tenant_id, day, model, call_count, failed_count, input_tokens, output_tokens)
    VALUES (p_tenant, recollect.ledger_day(), p_model, 1, p_failed::integer, p_input, p_output)
    ON CONFLICT (tenant_id, day, model) DO UPDATE
    SET call_count = u.call_count + 1, failed_count = u.failed_count + EXCLUDED.failed_count,
        input_tokens = u.input_tokens + EXCLUDED.input_tokens,
        output_tokens = u.output_tokens + EXCLUDED.output_tokens
    RETURNING u.call_count INTO v_calls;
    -- Once a day: nobody can ask for what is older.
    IF v_calls = 1 THEN
        DELETE FROM recollect.model_usage u
        WHERE u.tenant_id = p_tenant AND u.day < recollect.ledger_day() - 366;
    END IF;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
