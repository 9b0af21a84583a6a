-- What language models cost: what was spent of it, by day and model, and what is
-- set aside for requests that are under way.

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

-- What a request may cost at most, from before it is made until it is known what
-- it did cost.
CREATE TABLE recollect.model_reservations (
    tenant_id text NOT NULL,
    reservation_id uuid NOT NULL,
    -- In UTC.
    day date NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    -- Nobody will tell any more by then: it counts as spent.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, reservation_id)
);

SELECT recollect.isolate('model_usage', 'model_reservations');
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.model_usage, recollect.model_reservations TO recollect_service;

-- Today, for the ledger.
CREATE FUNCTION recollect.ledger_day()
RETURNS date
LANGUAGE sql STABLE AS $$
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date
$$;

-- Sets tokens aside for one request, where today's budget has as many left; a
-- budget of 0 has no end.
CREATE FUNCTION recollect.reserve_tokens(
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
    -- One at a time: two that do not see each other could spend the same tokens.
    PERFORM pg_advisory_xact_lock(hashtextextended('model_usage' || chr(1) || p_tenant, 0));
    WITH lost AS (
        DELETE FROM recollect.model_reservations r
        WHERE r.tenant_id = p_tenant AND r.expires_at <= clock_timestamp()
        RETURNING r.day, r.model, r.input_tokens, r.output_tokens
    )
    INSERT INTO recollect.model_usage AS u
        (tenant_id, day, model, call_count, failed_count, input_tokens, output_tokens)
    SELECT p_tenant, lost.day, lost.model, count(*), count(*), sum(lost.input_tokens), sum(lost.output_tokens)
    FROM lost
    GROUP BY lost.day, lost.model
    ON CONFLICT (tenant_id, day, model) DO UPDATE
    SET call_count = u.call_count + EXCLUDED.call_count, failed_count = u.failed_count + EXCLUDED.failed_count,
        input_tokens = u.input_tokens + EXCLUDED.input_tokens,
        output_tokens = u.output_tokens + EXCLUDED.output_tokens;
    IF p_budget > 0 THEN
        SELECT COALESCE((SELECT sum(u.input_tokens + u.output_tokens) FROM recollect.model_usage u
                         WHERE u.tenant_id = p_tenant AND u.day = recollect.ledger_day()), 0)
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
        (p_tenant, p_reservation, recollect.ledger_day(), p_model, p_input, p_output,
         clock_timestamp() + make_interval(secs => p_keep));
    RETURN true;
END;
$$;

-- Ends a reservation, and notes what the request did cost. One that has ended
-- already, as spent, stays so.
CREATE FUNCTION recollect.settle_tokens(
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
    VALUES (p_tenant, recollect.ledger_day(), v_model, 1, p_failed::integer, p_input, p_output)
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
