-- Each row counts equal rejections. Its id is made of the time of the first one, as the id of a
-- change is, so that the list stays ordered. The service passes ages, because its clock may differ
-- from the database's.
INSERT INTO recollect.transactions (tenant_id, id, actor, action, result, item_count, created_at)
SELECT $1,
    (recollect.change_time() - (refused.age * 1000000)::bigint) * 256
        + nextval('recollect.transaction_numbers') % 256,
    refused.actor, refused.action, refused.result, refused.item_count, refused.first
FROM (
    SELECT r.actor, r.action, r.result, r.item_count, r.age,
        statement_timestamp() - make_interval(secs => r.age) AS first
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::float8[])
        AS r (actor, action, result, item_count, age)
) refused
-- Where the id is taken the row is dropped: rejections are recorded at best effort.
ON CONFLICT DO NOTHING
