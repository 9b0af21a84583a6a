-- Documents are found by their namespaces and by the values of their fields through indexes. Under
-- row-level security Postgres uses an index over texts, and none over lists or JSON, whose
-- comparisons are not leakproof.

-- The namespace of a document as one text, which sorts as the list of labels does: each label ends
-- with chr(1) twice, and a chr(1) in it is followed by chr(2).
CREATE FUNCTION recollect.document_path(p_namespace text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(string_agg(replace(l.label, chr(1), chr(1) || chr(2)) || chr(1) || chr(1), '' ORDER BY l.place), '')
    FROM unnest(p_namespace) WITH ORDINALITY AS l (label, place)
$$;

-- What stands in the index for a field of an owner's document with this value; without a field, for
-- a document with any values.
CREATE FUNCTION recollect.document_term(p_owner bytea, p_field text, p_value jsonb)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
        encode(p_owner, 'hex') || COALESCE(to_json(p_field)::text || CASE jsonb_typeof(p_value)
            -- 1 equals 1.0.
            WHEN 'number' THEN trim_scale((p_value #>> '{}')::numeric)::text ELSE p_value::text END, ''),
        0)
$$;

-- Those of the fields with a text, a number or a truth value. With more than 64 of them, a document
-- counts as one with any values.
CREATE FUNCTION recollect.document_terms(p_owner bytea, p_value jsonb)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN count(*) > 64 THEN ARRAY[recollect.document_term(p_owner, NULL, NULL)]
        ELSE COALESCE(array_agg(recollect.document_term(p_owner, f.field, f.value)), '{}') END
    FROM (
        SELECT e.field, e.value
        FROM jsonb_each(p_value) AS e (field, value)
        WHERE jsonb_typeof(e.value) IN ('string', 'number', 'boolean')
        LIMIT 65
    ) AS f
$$;

ALTER TABLE recollect.documents
    ADD COLUMN path text COLLATE "C" NOT NULL GENERATED ALWAYS AS (recollect.document_path(namespace)) STORED,
    ADD COLUMN terms bigint[] NOT NULL GENERATED ALWAYS AS (recollect.document_terms(owner, value)) STORED,
    DROP CONSTRAINT documents_pkey,
    ADD PRIMARY KEY (tenant_id, owner, path, key);
CREATE INDEX documents_by_time ON recollect.documents (tenant_id, owner, updated_at);
-- Without a list of pending entries, which each search would read.
CREATE INDEX documents_by_term ON recollect.documents USING gin (terms) WITH (fastupdate = off);

-- The definer of the function that finds documents by the values of their fields.
CREATE POLICY search ON recollect.documents FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, owner, path, key, terms, expires_at, updated_at) ON recollect.documents TO recollect_search;
