-- Where to send a subscription's events, and what signs them; the former secret until its time.
SELECT s.url, s.key_id, s.nonce, s.ciphertext,
    CASE WHEN s.former_until > clock_timestamp() THEN s.former_key_id END AS former_key_id,
    s.former_nonce, s.former_ciphertext
FROM recollect.subscriptions s
WHERE s.tenant_id = $1 AND s.name = $2 AND s.lease_id = $3 AND s.pushes AND s.enabled
