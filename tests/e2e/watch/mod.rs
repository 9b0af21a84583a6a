//! A watch reports every change of a thread in order, across servers and crashes.

mod events;
mod processes;
