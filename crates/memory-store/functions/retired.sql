-- Functions, and signatures of functions, that the release before last still called. They
-- are dropped before the present ones are applied.
--
-- A release that changes a function's signature keeps the old overload in a file of its
-- own, so that servers of the release before go on working during a rolling upgrade. The
-- next release deletes that file and lists the signature here:
--     DROP FUNCTION IF EXISTS recollect.name(text, uuid);
-- So is a function whose parameters are renamed, which CREATE OR REPLACE refuses: it is
-- created again in the same transaction.
DROP FUNCTION IF EXISTS recollect.use_thread(text, uuid);
DROP FUNCTION IF EXISTS recollect.ephemeral_usage(text);
