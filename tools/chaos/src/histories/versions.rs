//! The versions of a message as a register whose writes are all different, checked by the zones
//! of Gibbons and Korach ("Testing shared memories", SIAM J. Comput. 26, 1997).
//!
//! The zone of a version reaches from the first end to the last beginning of its write and its
//! reads. If the first end comes first, the register has this version throughout the zone, and
//! no other version may be in it. An order exists if no two such zones overlap, no other
//! version's operations all lie within one, and no read ends before its write begins.

use std::collections::{BTreeMap, HashMap};

use super::anomaly::{What, Which};
use super::facts::Facts;
use super::history::Call;
use super::messages::Index;

/// The write of a version, and the extremes of it and its reads.
struct Zone {
    /// When the write began and was acknowledged.
    write: (u64, u64),
    written_by: Which,
    read: bool,
    first_end: (u64, Which),
    last_begin: (u64, Which),
}

impl Zone {
    fn of_write(from: u64, until: u64, by: Which) -> Self {
        Self {
            write: (from, until),
            written_by: by,
            read: false,
            first_end: (until, by),
            last_begin: (from, by),
        }
    }

    /// The times between which the register has this version throughout.
    fn throughout(&self) -> Option<(u64, u64)> {
        (self.first_end.0 < self.last_begin.0).then_some((self.first_end.0, self.last_begin.0))
    }
}

/// Checks the versions of each message of a thread.
pub(super) fn check(facts: &mut Facts<'_>) {
    let mut zones: HashMap<Index, BTreeMap<u64, Zone>> = HashMap::new();
    for &(which, operation) in &facts.operations {
        let Call::Update { message, version } = operation.call else {
            continue;
        };
        let Some(index) = facts.named(message) else {
            continue;
        };
        let zones = zones.entry(index).or_insert_with(|| {
            let append = facts.append_of(index);
            let stored = facts.message(index).stored;
            let first = Zone::of_write(append.from, stored.at, append.first);
            BTreeMap::from([(0, first)])
        });
        if operation.may_have_happened() {
            let zone = Zone::of_write(operation.invoked, operation.end(), which);
            zones.insert(version, zone);
        }
    }
    for number in 0..facts.operations.len() {
        let (read, operation) = facts.operations[number];
        let (begin, end) = (operation.invoked, operation.end());
        for stored in operation.messages().unwrap_or_default() {
            let Some(index) = facts.returned(stored) else {
                continue;
            };
            let (message, version) = (stored.value, stored.version);
            let versions = zones.get_mut(&index);
            if versions.is_none() && version == 0 {
                continue;
            }
            let zone = versions.and_then(|versions| versions.get_mut(&version));
            let Some(zone) = zone.filter(|zone| zone.write.0 <= end) else {
                let what = What::PhantomVersion {
                    message,
                    version,
                    read,
                };
                facts.report("phantom version", message, what);
                continue;
            };
            zone.read = true;
            zone.first_end = zone.first_end.min((end, read));
            zone.last_begin = zone.last_begin.max((begin, read));
        }
    }
    for (index, zones) in zones {
        check_zones(facts, facts.message(index).value, &zones);
    }
}

fn check_zones(facts: &mut Facts<'_>, message: u64, zones: &BTreeMap<u64, Zone>) {
    // A write without an end that no read shows may never have happened.
    let known = |zone: &&Zone| zone.read || zone.write.1 < u64::MAX;
    let newest_write = zones.values().filter(|zone| zone.write.1 < u64::MAX);
    let newest_write = newest_write.max_by_key(|zone| zone.write.0);
    for (&version, zone) in zones {
        let end_of_write = zone.write.1.min(zone.first_end.0);
        let (begin, read) = zone.last_begin;
        // The write that began last is the likely one to have replaced it.
        let replaced = |newer: &&Zone| end_of_write < newer.write.0 && newer.write.1 < begin;
        let newer = newest_write.filter(replaced);
        if let Some(newer) = newer.or_else(|| zones.values().find(replaced)) {
            let newer = newer.written_by;
            let what = What::OldVersion {
                message,
                version,
                newer,
                read,
            };
            return facts.report("versions", message, what);
        }
    }
    for (version, zone) in zones.iter().filter(|(_, zone)| known(zone)) {
        let Some((from, until)) = zone.throughout() else {
            continue;
        };
        let others = zones.iter().filter(|(other, _)| *other != version);
        for (_, other) in others.filter(|(_, other)| known(other)) {
            let conflict = match other.throughout() {
                Some((other_from, other_until)) => from < other_until && other_from < until,
                None => from < other.last_begin.0 && other.first_end.0 < until,
            };
            if conflict {
                let (first, second) = (zone.last_begin.1, other.last_begin.1);
                let what = What::Versions {
                    message,
                    first,
                    second,
                };
                return facts.report("versions", message, what);
            }
        }
    }
}
