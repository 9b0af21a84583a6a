use std::time::Instant;
use std::collections::HashSet;
fn main() {
    let t = Instant::now();
    let o = tiktoken_rs::o200k_base_singleton();
    println!("load o200k {:?} rss {}", t.elapsed(), rss());
    let t = Instant::now();
    let c = tiktoken_rs::cl100k_base_singleton();
    println!("load cl100k {:?} rss {}", t.elapsed(), rss());
    let n = 256 * 1024;
    let cases: Vec<(&str, String)> = vec![
        ("a", "a".repeat(n)), ("A", "A".repeat(n)), ("spaces", " ".repeat(n)), ("spaces+x", " ".repeat(n-1)+"x"),
        ("newlines", "\n".repeat(n)), ("nl+x", "\n".repeat(n-1)+"x"), ("sp nl alternating", " \n".repeat(n/2)), ("tab sp", " \t".repeat(n/2)+"x"),
        ("emoji", "😀".repeat(n/4)), ("zwj", "👨‍👩‍👧".repeat(n/18)), ("digits", "1".repeat(n)), ("dots", ".".repeat(n)), ("dots/", "./".repeat(n/2)),
        ("cjk", "漢".repeat(n/3)), ("cjk mix", "漢字仮名交じり文".repeat(n/24)), ("combining", "\u{301}".repeat(n/2)), ("e+comb", "e\u{301}".repeat(n/3)),
        ("apostrophe", "'".repeat(n)), ("a's", "a's".repeat(n/3)), ("aA", "aA".repeat(n/2)), ("Aa", "Aa".repeat(n/2)), ("words", "hello world, this is a test. ".repeat(n/29)),
        ("base64", { let mut s=String::new(); let mut x=88172645463325252u64; while s.len()<n { x^=x<<13; x^=x>>7; x^=x<<17; s.push(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(x%52) as usize] as char);} s }),
        ("nbsp", "\u{a0}".repeat(n/2)), ("ideo space", "\u{3000}".repeat(n/3)+"x"), ("thai","สวัสดี".repeat(n/18)), ("a-","a-".repeat(n/2)), ("nul-ish \\x01","\u{1}".repeat(n)),
    ];
    let empty = HashSet::new();
    for (name, s) in &cases {
        print!("{name:20} {:>7} bytes ", s.len());
        for bpe in [o, c] {
            let t = Instant::now();
            let r = std::panic::catch_unwind(|| bpe.encode_ordinary(s).len());
            let d = t.elapsed();
            let t2 = Instant::now();
            let r2 = bpe.encode(s, &empty).map(|x| x.0.len());
            print!(" | {:?} {:?} encode {:?} {}", r.ok(), d, t2.elapsed(), r2.is_ok());
        }
        println!();
    }
    let short = "My dog is called Pixel and he likes to chase the red ball ok";
    for bpe in [o, c] {
        let t = Instant::now();
        let mut k = 0; for _ in 0..20000 { k += bpe.encode_ordinary(std::hint::black_box(short)).len(); }
        println!("60 chars: {:?} {}", t.elapsed()/20000, k/20000);
    }
}
fn rss() -> String { std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmRSS")).unwrap().to_string() }
