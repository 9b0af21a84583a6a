-- The threads that append.pgbench.sql appends to: one for each of at most 256 clients. Run
-- it as the owner, with the role recollect_service.
BEGIN;
SET LOCAL ROLE recollect_service;
SELECT count(recollect.open_thread(
    'pgbench', 'pgbench', ('00000000-0000-7000-8000-' || lpad(client::text, 12, '0'))::uuid, 'pgbench', 'client-' || client,
    'global', sha256(client::text::bytea), '', '{}', NULL, ARRAY['~thread-' || client, '~user-' || client, '~app'], '{}', NULL, NULL))
FROM generate_series(0, 255) AS client;
COMMIT;
