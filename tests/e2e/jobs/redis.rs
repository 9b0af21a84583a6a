//! A user of working memory in the manner of Redis.
