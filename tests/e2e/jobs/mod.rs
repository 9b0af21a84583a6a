//! Days of users, with nothing set that the user would not set.

mod anyone;
mod dify;
mod langflow;
mod n8n;
mod redis;
mod tensorify;
