#![doc = include_str!("../README.md")]

mod anthropic;
mod format;
mod gemini;
mod image;
mod json;
mod openai_chat;
mod openai_responses;
mod read;
mod reading;
mod render;
mod request;
mod steps;
mod text;
mod user_first;

#[cfg(test)]
mod tests;

pub use format::{Format, Labels, Rendered, Said};
pub use read::messages_in;
pub use render::render;
pub use request::{format_from, inputs_of, new_messages_from};
