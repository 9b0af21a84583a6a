//! Days of users, with nothing set that the user would not set.

mod anyone;
mod anyone_files;
mod dify;
mod dify_files;
mod langflow;
mod n8n;
mod redis;
mod tensorify;
