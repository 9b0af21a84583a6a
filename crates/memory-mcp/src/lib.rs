#![doc = include_str!("../README.md")]

mod api;
mod failure;
mod http;
mod owner;
mod resources;
mod server;
mod shown;
mod stdio;
mod tools;
mod uri;

pub use api::Transport;
pub use http::{Admit, Mcp, McpConfig, McpLayer, PATH, Permit};
pub use owner::Fixed;
pub use stdio::{StdioError, serve_stdio};
