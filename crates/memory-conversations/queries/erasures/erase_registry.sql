-- Erases the rows of a tenant in the main database, where conversations have a database of their
-- own: all its keys but $2.
WITH files AS (DELETE FROM recollect.files f WHERE f.tenant_id = $1),
secrets AS (DELETE FROM recollect.secrets s WHERE s.tenant_id = $1)
DELETE FROM recollect.api_keys k WHERE k.tenant_id = $1 AND k.name <> $2
