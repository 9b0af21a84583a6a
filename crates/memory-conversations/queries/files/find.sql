SELECT transfer_method, reference, type, storage_key, name, mime_type, size_bytes, created_at, updated_at, place
FROM recollect.find_files($1, $2, $3)
