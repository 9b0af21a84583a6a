-- The document of a name, expired or not. In a join with names it is looked up for each, one after
-- the other, however small the table was when that was planned.
CREATE OR REPLACE FUNCTION recollect.document_named(p_tenant text, p_owner bytea, p_path text, p_key text)
RETURNS SETOF recollect.documents
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT d.* FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = p_path AND d.key = p_key
    OFFSET 0
$$;
