//! The machine that the figures were measured on.

use std::fs;

use serde::Serialize;

/// The properties that figures depend on.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    pub memory_gib: u64,
    /// Operating system and processor kind.
    pub os: String,
    /// Whether memory-bench itself was built with optimization.
    pub optimized: bool,
}

impl Machine {
    /// Reads the properties of this machine. Unknown ones are empty or 0.
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let field = |text: &str, name: &str| {
            text.lines()
                .find(|line| line.starts_with(name))
                .and_then(|line| line.split(':').nth(1))
                .map(|value| value.trim().to_owned())
                .unwrap_or_default()
        };
        let memory_kib: u64 = field(&meminfo, "MemTotal")
            .split(' ')
            .next()
            .and_then(|kib| kib.parse().ok())
            .unwrap_or_default();
        Self {
            cpu: field(&cpuinfo, "model name"),
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            memory_gib: memory_kib.div_ceil(1024 * 1024),
            os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            optimized: !cfg!(debug_assertions),
        }
    }

    /// One line for a report's head.
    pub fn line(&self) -> String {
        let build = if self.optimized {
            "release build"
        } else {
            "DEBUG BUILD: not comparable"
        };
        format!(
            "{}, {} cores, {} GiB, {}, {build}",
            self.cpu, self.cores, self.memory_gib, self.os
        )
    }
}

/// Bytes that a process has read from disks so far, those of mapped files included; 0 where the
/// system does not count them.
pub fn read_from_disk(pid: u32) -> u64 {
    of_process(pid, "io", "read_bytes:").unwrap_or_default()
}

/// Resident memory of a process, in MiB.
pub fn resident_mib(pid: u32) -> Option<f64> {
    let kib = of_process(pid, "status", "VmRSS:")?;
    Some(kib as f64 / 1_024.0)
}

/// Memory of a process, in MiB, with its share of the pages that others use too.
pub fn share_mib(pid: u32) -> Option<f64> {
    let kib = of_process(pid, "smaps_rollup", "Pss:")?;
    Some(kib as f64 / 1_024.0)
}

/// The number after `name` in a file that the system has about a process.
fn of_process(pid: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix(name))?;
    number.trim().trim_end_matches(" kB").parse().ok()
}
