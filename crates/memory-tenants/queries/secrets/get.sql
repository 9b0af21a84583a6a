SELECT s.name, s.created_at, s.updated_at, s.key_id, s.nonce, s.ciphertext
FROM recollect.secrets s
WHERE s.tenant_id = $1 AND s.name = $2
