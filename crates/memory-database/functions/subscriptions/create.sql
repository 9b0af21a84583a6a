-- Creates a subscription. Changes that are committed later and began later are its events.
CREATE OR REPLACE FUNCTION recollect.create_subscription(
    p_tenant text, p_name text, p_app text, p_user text, p_actions text[], p_url text,
    -- The encrypted secret; null without a URL.
    p_key_id text, p_nonce bytea, p_ciphertext bytea,
    -- The most that a tenant has.
    p_most integer
)
-- ok, exists or full.
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
    -- One after the other, so that there are never too many.
    PERFORM pg_advisory_xact_lock(hashtextextended('subscriptions' || chr(1) || p_tenant, 0));
    IF EXISTS (SELECT FROM recollect.subscriptions s WHERE s.tenant_id = p_tenant AND s.name = p_name) THEN
        RETURN 'exists';
    END IF;
    IF p_most <= (SELECT count(*) FROM recollect.subscriptions s WHERE s.tenant_id = p_tenant) THEN
        RETURN 'full';
    END IF;
    -- First, because it is no event of its own.
    PERFORM recollect.audit(p_tenant, 'create_subscription', NULL, p_name, 1);
    INSERT INTO recollect.subscriptions
        (tenant_id, name, app_id, user_id, actions, url, key_id, nonce, ciphertext)
    VALUES (p_tenant, p_name, p_app, p_user, p_actions, p_url, p_key_id, p_nonce, p_ciphertext);
    RETURN 'ok';
END;
$$;
