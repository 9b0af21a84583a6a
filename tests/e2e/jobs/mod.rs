//! Days of users, with nothing set that the user would not set.

mod agents;
mod anyone;
mod anyone_files;
mod dify;
mod dify_files;
mod langflow;
mod n8n;
mod recalled;
mod redis;
mod tensorify;
