//! Bounds connections, in all and by address.
//!
//! Where a bound is reached, a connection without a request is closed for a new one: the oldest of
//! the address that has most of them. So sockets that send nothing useful do not prevent other
//! clients from connecting.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

const OPEN: &str = "recollect_connections";
const CLOSED: &str = "recollect_connections_closed_total";
/// Refusals are logged again after this time.
const WARN_AGAIN: Duration = Duration::from_secs(60);

/// The most connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) all: usize,
    /// Of one IPv4 address, or of one /64 of IPv6 addresses.
    pub(super) of_address: usize,
    pub(super) idle: usize,
}

/// Counts connections. Clones share the counts.
#[derive(Clone)]
pub(super) struct Admission {
    bounds: Bounds,
    /// The value of the metrics' label `listener`.
    listener: &'static str,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, IpAddr>,
    by_address: HashMap<IpAddr, usize>,
    /// Those that have sent nothing useful, the oldest first.
    idle: BTreeMap<u64, CancellationToken>,
    /// Those that have begun to speak HTTP/2, and have no request yet.
    greeted: BTreeMap<u64, CancellationToken>,
    /// The idle and the greeted ones of each address that has some.
    waiting: HashMap<IpAddr, usize>,
    next: u64,
    /// When a refusal was logged last.
    warned: Option<Instant>,
}

/// The place of an open connection, which it has until this is dropped.
pub struct Place {
    number: u64,
    admission: Admission,
    close: CancellationToken,
    has_request: AtomicBool,
}

impl Admission {
    pub(super) fn new(listener: &'static str, bounds: Bounds) -> Self {
        Self {
            bounds,
            listener,
            open: Arc::default(),
        }
    }

    /// Gives a new connection its place; `None` if there is none.
    pub(super) fn admit(&self, address: IpAddr) -> Option<Place> {
        let address = network(address);
        let mut open = self.lock();
        let of_address = open.by_address.get(&address).copied().unwrap_or_default();
        let makes_room = if of_address >= self.bounds.of_address {
            Some(address)
        } else if open.connections.len() >= self.bounds.all || open.idle.len() >= self.bounds.idle {
            Some(open.most_waiting().unwrap_or(address))
        } else {
            None
        };
        if let Some(makes_room) = makes_room {
            if !open.close_oldest(makes_room) {
                self.count("bound");
                self.warn(address, &mut open);
                return None;
            }
            self.count("evicted");
        }
        let number = open.next;
        let close = CancellationToken::new();
        open.next += 1;
        open.connections.insert(number, address);
        *open.by_address.entry(address).or_default() += 1;
        open.idle.insert(number, close.clone());
        *open.waiting.entry(address).or_default() += 1;
        self.report(&open);
        drop(open);
        Some(Place {
            number,
            admission: self.clone(),
            close,
            has_request: AtomicBool::new(false),
        })
    }

    fn warn(&self, address: IpAddr, open: &mut Open) {
        if open
            .warned
            .is_none_or(|warned| warned.elapsed() > WARN_AGAIN)
        {
            open.warned = Some(Instant::now());
            tracing::warn!(
                %address,
                listener = self.listener,
                open = open.connections.len(),
                "connections are refused; see server.max_connections and \
                 max_connections_per_address"
            );
        }
    }

    fn report(&self, open: &Open) {
        metrics::gauge!(OPEN, "listener" => self.listener).set(open.connections.len() as f64);
    }

    fn count(&self, reason: &'static str) {
        metrics::counter!(CLOSED, "listener" => self.listener, "reason" => reason).increment(1);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The address with the most connections without a request: who has many makes room, and a
    /// caller whose first request is on its way does not.
    fn most_waiting(&self) -> Option<IpAddr> {
        let most = self.waiting.iter().max_by_key(|(_, count)| **count);
        most.map(|(address, _)| *address)
    }

    /// Closes the oldest connection without a request of an address, idle ones first. Returns
    /// whether there was one.
    fn close_oldest(&mut self, address: IpAddr) -> bool {
        let mut waiting = self.idle.keys().chain(self.greeted.keys()).copied();
        let oldest = waiting.find(|number| self.connections.get(number) == Some(&address));
        let Some(oldest) = oldest else {
            return false;
        };
        if let Some(close) = self.remove(oldest) {
            close.cancel();
        }
        true
    }

    /// Frees a place. Returns how a connection without a request is closed.
    fn remove(&mut self, number: u64) -> Option<CancellationToken> {
        let waiting = self.end_waiting(number);
        let address = self.connections.remove(&number)?;
        count_down(&mut self.by_address, address);
        waiting
    }

    /// Ends the time without a request, if that lasts. Returns how such a connection is closed.
    fn end_waiting(&mut self, number: u64) -> Option<CancellationToken> {
        let close = self.idle.remove(&number);
        let close = close.or_else(|| self.greeted.remove(&number))?;
        if let Some(address) = self.connections.get(&number) {
            count_down(&mut self.waiting, *address);
        }
        Some(close)
    }
}

fn count_down(counts: &mut HashMap<IpAddr, usize>, address: IpAddr) {
    if let Some(count) = counts.get_mut(&address) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&address);
        }
    }
}

impl Place {
    /// Notes that the connection has a request, unless it is closing for another one already.
    pub(crate) fn note_request(&self) {
        if self.has_request() {
            return;
        }
        if self.admission.lock().end_waiting(self.number).is_some() {
            self.has_request.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that the connection speaks HTTP/2. It may be without a request for long, but makes room
    /// for another one where a bound is reached.
    pub(super) fn note_greeting(&self) {
        let mut open = self.admission.lock();
        if let Some(close) = open.idle.remove(&self.number) {
            open.greeted.insert(self.number, close);
        }
    }

    pub(super) fn has_request(&self) -> bool {
        self.has_request.load(Ordering::Relaxed)
    }

    /// Cancelled when the connection has to close for another one.
    pub(super) fn close(&self) -> &CancellationToken {
        &self.close
    }

    /// Counts a connection that closes because no request came in time.
    pub(super) fn count_timeout(&self) {
        self.admission.count("no_request");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.admission.lock();
        open.remove(self.number);
        self.admission.report(&open);
    }
}

/// What one client is likely to have of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// Describes the metrics of connections to the global recorder.
pub(crate) fn describe_metrics() {
    metrics::describe_gauge!(OPEN, "Open connections, by listener: grpc or metrics.");
    metrics::describe_counter!(
        CLOSED,
        "Connections that the server closed, by listener and reason: bound (there was no room), \
         evicted (it had no request, and made room for another one) or no_request (none came in \
         time)."
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(all: usize, of_address: usize, idle: usize) -> Admission {
        Admission::new(
            "test",
            Bounds {
                all,
                of_address,
                idle,
            },
        )
    }

    fn from(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_idle_connection_makes_room() {
        let admission = admission(2, 2, 2);
        let first = admission.admit(from(1)).unwrap();
        let second = admission.admit(from(2)).unwrap();
        first.note_request();
        let third = admission.admit(from(3)).unwrap();
        assert!(!first.close().is_cancelled());
        assert!(second.close().is_cancelled());
        // Its place is free already.
        drop(second);
        third.note_request();
        assert!(admission.admit(from(4)).is_none());
        drop(first);
        assert!(admission.admit(from(4)).is_some());
    }

    #[test]
    fn who_has_most_connections_without_a_request_makes_room() {
        let admission = admission(10, 10, 3);
        let caller = admission.admit(from(1)).unwrap();
        let many = [2, 2].map(|last| admission.admit(from(last)).unwrap());
        let next = admission.admit(from(2)).unwrap();
        assert!(!caller.close().is_cancelled());
        assert!(many[0].close().is_cancelled());
        // Those that speak HTTP/2 count among them, and are closed last.
        many[1].note_greeting();
        let last = admission.admit(from(2)).unwrap();
        let more = admission.admit(from(3)).unwrap();
        assert!(!many[1].close().is_cancelled());
        assert!(next.close().is_cancelled());
        drop((caller, many, next, last, more));
        assert!(admission.lock().waiting.is_empty());
        assert!(admission.lock().by_address.is_empty());
    }

    #[test]
    fn an_address_takes_room_from_itself_alone() {
        let admission = admission(10, 2, 10);
        let other = admission.admit(from(9)).unwrap();
        let own = [1, 1].map(|last| admission.admit(from(last)).unwrap());
        let next = admission.admit(from(1)).unwrap();
        assert!(own[0].close().is_cancelled());
        assert!(!other.close().is_cancelled());
        own[1].note_request();
        next.note_request();
        assert!(admission.admit(from(1)).is_none());
        assert!(admission.admit(from(2)).is_some());
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let address = |text: &str| network(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_ne!(address("10.0.0.1"), address("10.0.0.2"));
    }
}
