//! Days of users, with nothing set that the user would not set.

mod agents;
mod anyone;
mod anyone_files;
mod dify;
mod dify_files;
mod langflow;
mod n8n;
mod n8n_loop;
mod recalled;
mod redis;
mod redis_window;
mod tensorify;
mod tool_outputs;
