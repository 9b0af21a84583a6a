-- Parses a UUID. Null if the text is not a UUID.
CREATE OR REPLACE FUNCTION recollect.uuid_of(p_text text)
RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_text ~* '^(urn:uuid:)?\{?[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\}?$'
        THEN translate(regexp_replace(p_text, '^urn:uuid:', '', 'i'), '{}', '')::uuid
    END
$$;
