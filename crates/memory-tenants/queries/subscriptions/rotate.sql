-- Replaces the secret; the former one signs too, for $6 seconds. Deliveries are tried again at once:
-- the former secret may be why they failed.
WITH changed AS (
    UPDATE recollect.subscriptions s
    SET key_id = $3, nonce = $4, ciphertext = $5,
        former_key_id = s.key_id, former_nonce = s.nonce, former_ciphertext = s.ciphertext,
        former_until = clock_timestamp() + make_interval(secs => $6), retry_at = NULL,
        updated_at = clock_timestamp()
    WHERE s.tenant_id = $1 AND s.name = $2 AND s.pushes
    RETURNING s.name
)
SELECT c.name, recollect.audit($1, 'rotate_subscription_secret', NULL, c.name, 1)
FROM changed c
