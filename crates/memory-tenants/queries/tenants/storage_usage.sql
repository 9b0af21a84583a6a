SELECT message_count, stored_bytes FROM recollect.storage_usage($1)
