ALTER TABLE recollect.erasures
    -- Of a thread that is cleared in steps (step `clear`), and hidden meanwhile: when it expires
    -- by itself; null: never.
    ADD COLUMN kept_expiry timestamptz;
