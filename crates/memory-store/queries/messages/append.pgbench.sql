-- For pgbench: one append of one message, as the service makes it, without the
-- service. Each client has a separate thread; append.pgbench.setup.sql makes
-- them. Under row-level security, as in the service, with
--   PGOPTIONS='-c role=recollect_service' pgbench -n -M prepared -c 8 -j 2 -T 10 \
--     -f append.pgbench.sql DATABASE
SELECT * FROM recollect.append(
    'pgbench', 'pgbench', ('00000000-0000-7000-8000-' || lpad(:client_id::text, 12, '0'))::uuid,
    ARRAY[gen_random_uuid()], NULL, ARRAY['user'], ARRAY[''],
    ARRAY['[{"text":"My dog is called Pixel, and he likes to swim in the lake behind our house."}]'::json],
    ARRAY['{}'::jsonb], ARRAY[20],
    ARRAY['My dog is called Pixel, and he likes to swim in the lake behind our house.'],
    ARRAY[NULL::timestamptz], gen_random_uuid(), '\x00'::bytea, false, NULL, false);
