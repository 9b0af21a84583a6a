WITH changed AS (
    INSERT INTO recollect.secrets (tenant_id, name, key_id, nonce, ciphertext)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant_id, name) DO UPDATE
    SET key_id = EXCLUDED.key_id, nonce = EXCLUDED.nonce, ciphertext = EXCLUDED.ciphertext,
        updated_at = clock_timestamp()
    RETURNING name, created_at, updated_at
)
SELECT c.name, c.created_at, c.updated_at, recollect.audit($1, 'set_secret', NULL, c.name, 1)
FROM changed c
