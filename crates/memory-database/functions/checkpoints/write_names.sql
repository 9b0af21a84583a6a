-- What a write counts, besides its data, toward the bytes of a checkpoint's writes: its names, and
-- 256 for the row, so that empty writes have a limit, too.
CREATE OR REPLACE FUNCTION recollect.checkpoint_write_names(p_task text, p_path text, p_channel text, p_type text)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (256 + octet_length(p_task) + octet_length(p_path) + octet_length(p_channel) + octet_length(p_type))::bigint
$$;
