-- Who did what: one row for each change, written in the change's own
-- transaction, and one for equal refusals of a change. It never has content.
CREATE SEQUENCE recollect.transaction_numbers;

CREATE TABLE recollect.transactions (
    tenant_id text NOT NULL,
    -- The order of writing, also where the tenant's changes are in two
    -- databases: microseconds since 1970, and 8 bits that keep those of the
    -- same microsecond apart. (Numbers that a connection had taken in advance
    -- would not: two connections could be a multiple of 256 apart.)
    id bigint NOT NULL DEFAULT
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 256
        + nextval('recollect.transaction_numbers') % 256,
    -- The name of an API key, `anonymous` or `worker`.
    actor text NOT NULL,
    action text NOT NULL,
    thread_id uuid,
    -- What else it was done to: a name or an id.
    subject text NOT NULL DEFAULT '',
    item_count bigint NOT NULL DEFAULT 1,
    -- What came of it: `ok`, or why it was refused; item_count is how often then.
    result text NOT NULL DEFAULT 'ok',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX transactions_by_thread ON recollect.transactions (tenant_id, thread_id, id) WHERE thread_id IS NOT NULL;
CREATE INDEX transactions_by_actor ON recollect.transactions (tenant_id, actor, id);
CREATE INDEX transactions_by_age ON recollect.transactions USING brin (created_at);

SELECT recollect.isolate('transactions');
-- What was written stays as it was written.
GRANT SELECT, INSERT ON recollect.transactions TO recollect_service;
GRANT USAGE ON SEQUENCE recollect.transaction_numbers TO recollect_service;
CREATE POLICY worker ON recollect.transactions TO recollect_worker USING (true);
GRANT SELECT (tenant_id, id, created_at), DELETE ON recollect.transactions TO recollect_worker;

-- Notes a change. The actor is the transaction's setting recollect.actor. Not in
-- SQL, whose plan Postgres would make anew for every call.
CREATE FUNCTION recollect.note(
    p_tenant text, p_action text, p_thread uuid, p_subject text, p_count bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        INSERT INTO recollect.transactions (tenant_id, actor, action, thread_id, subject, item_count)
        VALUES (p_tenant, COALESCE(NULLIF(current_setting('recollect.actor', true), ''), 'worker'),
                p_action, p_thread, COALESCE(p_subject, ''), p_count)
        ON CONFLICT DO NOTHING;
        -- A number that is taken must not undo the change: the next one will do.
        EXIT WHEN FOUND;
    END LOOP;
END;
$$;

REVOKE EXECUTE ON FUNCTION recollect.note FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.note TO recollect_service;
