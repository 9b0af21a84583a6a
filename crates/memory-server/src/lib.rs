#![doc = include_str!("../README.md")]

pub mod config;
mod connections;
pub mod health;
mod jwt;
mod layers;
mod refusals;
mod server;
mod services;
mod tls;

pub use config::{AuthConfig, JwtConfig, KeyConfig, ServerConfig, TlsConfig};
pub use connections::BoundedListener;
pub use health::{Health, Readiness};
pub use memory_http::check_origin;
pub use server::{Server, Services};
pub use tls::{Tls, TlsError};

/// Describes the metrics of the server and of its handlers to the installed recorder.
pub fn describe_metrics() {
    connections::describe_metrics();
    layers::describe_metrics();
    health::describe_metrics();
    refusals::describe_metrics();
    tls::describe_metrics();
    memory_api::describe_metrics();
}
