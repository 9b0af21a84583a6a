-- The release that applied the functions, such as 0.2.0; '': one from before this column.
-- An older release leaves the functions of a newer one.
ALTER TABLE recollect.schema_releases ADD COLUMN release text NOT NULL DEFAULT '';
