-- The bytes that a row of checkpoints takes. Digests and hashes have 16 each.
CREATE OR REPLACE FUNCTION recollect.checkpoint_row_bytes(p_row recollect.checkpoints)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (octet_length(p_row.data) + octet_length(p_row.metadata::text) + octet_length(p_row.namespace)
        + octet_length(p_row.checkpoint_id) + octet_length(p_row.parent_id) + 16 * cardinality(p_row.value_digests))::bigint
$$;

-- The same of a value.
CREATE OR REPLACE FUNCTION recollect.checkpoint_row_bytes(p_row recollect.checkpoint_values)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (octet_length(p_row.data) + octet_length(p_row.channel) + octet_length(p_row.version)
        + 16 * (1 + COALESCE(cardinality(p_row.chunks), 0)))::bigint
$$;

-- The same of a write.
CREATE OR REPLACE FUNCTION recollect.checkpoint_row_bytes(p_row recollect.checkpoint_writes)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (octet_length(p_row.data) + octet_length(p_row.namespace) + octet_length(p_row.checkpoint_id)
        + octet_length(p_row.task_id) + octet_length(p_row.task_path) + octet_length(p_row.channel)
        + 16 * COALESCE(cardinality(p_row.chunks), 0))::bigint
$$;

-- The same of a chunk.
CREATE OR REPLACE FUNCTION recollect.checkpoint_row_bytes(p_row recollect.checkpoint_chunks)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (octet_length(p_row.data) + 16)::bigint
$$;
