SELECT value, size_bytes, created_at, updated_at, deleted, is_directory, is_below_file
FROM recollect.memory_file_at($1, $2, $3)
