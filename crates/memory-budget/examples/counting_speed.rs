//! Prints what counting costs: `cargo run -p memory-budget --example counting_speed`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use memory_budget::Tokenizer;
use memory_contract::message::Part;

const TEXT_BYTES: usize = memory_contract::limits::TEXT_BYTES;

fn main() {
    for tokenizer in Tokenizer::ALL {
        let load = timed(|| tokenizer.warm());
        let message = [Part::text(
            "My dog is called Pixel, and he likes to chase the red ball!!",
        )];
        let rounds = 20_000;
        let short = timed(|| {
            for _ in 0..rounds {
                black_box(tokenizer.count_message("", black_box(&message)));
            }
        }) / rounds;
        println!("{}: loaded in {load:.1?}", tokenizer.name());
        println!("  a message of 60 characters: {short:.2?}");
        for (name, unit) in [
            (
                "prose",
                "Hello there, my dog is called Pixel. How are you today?\n",
            ),
            ("a", "a"),
            ("blanks", " "),
            ("line breaks", "\n"),
            ("dots", "."),
            ("emoji", "😀"),
            ("Chinese", "漢字仮名交じり文"),
        ] {
            let text = unit.repeat(TEXT_BYTES / unit.len());
            let mut tokens = 0;
            let took = timed(|| tokens = tokenizer.count(&text));
            println!(
                "  256 KiB of {name}: {tokens} tokens in {took:.1?}, {:.1} million tokens/s, {:.0} ns/byte",
                f64::from(tokens) / took.as_secs_f64() / 1e6,
                took.as_secs_f64() * 1e9 / text.len() as f64,
            );
        }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
