SELECT * FROM recollect.append(
    'pgbench', 'pgbench', ('00000000-0000-7000-8000-' || lpad(:client_id::text, 12, '0'))::uuid,
    json_build_array(json_build_object(
        'message_id', gen_random_uuid(), 'chosen', false, 'role', 'user', 'name', '', 'metadata', '{}'::json, 'tokens', 20)),
    ARRAY['[{"text":"My dog is called Pixel, and he likes to swim in the lake behind our house."}]'::json],
    ARRAY['My dog is called Pixel, and he likes to swim in the lake behind our house.'],
    gen_random_uuid(), '\x00'::bytea, false, NULL, false);
