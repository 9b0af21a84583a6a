-- Each row stands for equal refusals. Its number is made of when the first of them
-- was, as the table makes others of when they are written, so that the list stays
-- in order. The service tells ages: its clock may not be that of the database.
INSERT INTO recollect.transactions (tenant_id, id, actor, action, result, item_count, created_at)
SELECT $1,
    (extract(epoch FROM refused.first) * 1000000)::bigint * 256
        + nextval('recollect.transaction_numbers') % 256,
    refused.actor, refused.action, refused.result, refused.item_count, refused.first
FROM (
    SELECT r.actor, r.action, r.result, r.item_count,
        statement_timestamp() - make_interval(secs => r.age) AS first
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::float8[])
        AS r (actor, action, result, item_count, age)
) refused
-- A number that is taken: one refusal in very many is not worth a second try.
ON CONFLICT DO NOTHING
