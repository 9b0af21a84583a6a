-- The URL that names content in the parts of messages (RFC 6920).
CREATE OR REPLACE FUNCTION recollect.content_url(p_digest bytea)
RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'ni:///sha-256;' || translate(encode(p_digest, 'base64'), '+/=', '-_')
$$;
