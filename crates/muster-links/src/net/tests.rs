//! Peers that misbehave must not hurt others: the laws of the exchange.

use super::*;
use std::io::{Read, Write};
use std::net::TcpStream as Client;

/// Answers every line with the line.
struct Echo;

impl Session for Echo {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let mut taken = 0;
        while let Some((line, used)) = next_line(&bytes[taken..]) {
            if line == b"bye" {
                return Taken::Close;
            }
            peer.answer([line, b"\n"].concat());
            taken += used;
        }
        Taken::Bytes(taken)
    }
}

fn echo(limits: Limits) -> (Exchange, SocketAddr, Arc<Traffic>, Door) {
    let mut exchange = Exchange::default();
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let (at, traffic, door) = exchange.listen(anywhere, limits, Box::new(|_| Box::new(Echo))).unwrap();
    (exchange, at, traffic, door)
}

fn connect(at: SocketAddr) -> Client {
    let client = Client::connect(at).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    client
}

fn heard(client: &mut Client, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    client.read_exact(&mut bytes).unwrap();
    bytes
}

/// Waits until something holds.
fn until(holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "it never held");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    assert_eq!(next_line(b"a\nb"), Some((&b"a"[..], 2)));
    assert_eq!(next_line(b"a\r\nb"), Some((&b"a"[..], 3)));
    assert_eq!(next_line(b"\rb"), Some((&b""[..], 1)));
    assert_eq!(next_line(b"ab"), None);
}

#[test]
fn fragments_and_several_lines_at_once_are_answered_in_order() {
    let (_exchange, at, traffic, _) = echo(Limits::default());
    let mut client = connect(at);
    for piece in ["on", "e\ntw", "o\nthree\n"] {
        client.write_all(piece.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(heard(&mut client, 14), b"one\ntwo\nthree\n");
    assert_eq!(traffic.tally().sent, 3);
}

#[test]
fn a_peer_that_sends_without_an_end_is_closed_and_others_go_on() {
    let (_exchange, at, traffic, _) = echo(Limits { message_bytes: 1 << 16, ..Limits::default() });
    let (mut flood, mut calm) = (connect(at), connect(at));
    let noise = vec![b'x'; 1 << 20];
    // the connection is reset in the middle of it
    while flood.write_all(&noise).is_ok() {}
    calm.write_all(b"still here\n").unwrap();
    assert_eq!(heard(&mut calm, 11), b"still here\n");
    until(|| traffic.tally().closed == 1 && traffic.tally().peers == 1);
}

#[test]
fn too_many_peers_are_turned_away_and_room_is_given_back() {
    let (_exchange, at, traffic, _) = echo(Limits { peers: 10, ..Limits::default() });
    let crowd: Vec<Client> = (0..200).map(|_| connect(at)).collect();
    until(|| traffic.tally().refused == 190);
    drop(crowd);
    until(|| traffic.tally().peers == 0);
    let mut late = connect(at);
    late.write_all(b"hello\n").unwrap();
    assert_eq!(heard(&mut late, 6), b"hello\n");
}

#[test]
fn a_peer_that_does_not_read_loses_samples_not_memory() {
    let peers: Arc<Mutex<Vec<Arc<Peer>>>> = Arc::default();
    let seen = Arc::clone(&peers);
    let mut exchange = Exchange::default();
    let welcome: Welcome = Box::new(move |peer| {
        lock(&seen).push(Arc::clone(peer));
        Box::new(Echo)
    });
    let limits = Limits { outbox_bytes: 100_000, ..Limits::default() };
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let (at, traffic, _) = exchange.listen(anywhere, limits, welcome).unwrap();
    let silent = connect(at);
    until(|| !lock(&peers).is_empty());
    let peer = Arc::clone(&lock(&peers)[0]);
    let sample: Arc<[u8]> = vec![0; 10_000].into();
    for _ in 0..10_000 {
        peer.sample(Arc::clone(&sample));
        assert!(peer.waiting_bytes() <= 120_000);
    }
    until(|| traffic.tally().dropped > 1_000);
    assert!(peer.is_open());
    drop(silent);
    until(|| !peer.is_open());
}

#[test]
fn a_peer_that_does_not_read_its_answers_is_closed() {
    let (_exchange, at, traffic, _) = echo(Limits { outbox_bytes: 100_000, ..Limits::default() });
    let mut rude = connect(at);
    rude.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    let line = [vec![b'x'; 1000], vec![b'\n']].concat();
    while rude.write_all(&line).is_ok() {}
    until(|| traffic.tally().closed == 1);
}

#[test]
fn what_was_posted_is_sent_before_a_close_and_half_a_close_ends_it() {
    let (_exchange, at, traffic, _) = echo(Limits::default());
    let mut client = connect(at);
    client.write_all(b"last words\n").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"last words\n");
    until(|| traffic.tally().peers == 0);
    let mut client = connect(at);
    client.write_all(b"one\nbye\n").unwrap();
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"one\n");
}

#[test]
fn messages_keep_their_distance_in_time() {
    struct Slow;
    impl Session for Slow {
        fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
            if !bytes.is_empty() {
                peer.answer(*b"a");
                peer.answer_after(Duration::from_millis(30), *b"b");
            }
            Taken::Bytes(bytes.len())
        }
    }
    let mut exchange = Exchange::default();
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let (at, ..) = exchange.listen(anywhere, Limits::default(), Box::new(|_| Box::new(Slow))).unwrap();
    let mut client = connect(at);
    client.write_all(b"x").unwrap();
    assert_eq!(heard(&mut client, 1), b"a");
    let first = Instant::now();
    assert_eq!(heard(&mut client, 1), b"b");
    assert!(first.elapsed() >= Duration::from_millis(25));
}

#[test]
fn a_pseudo_terminal_passes_bytes_as_they_are() {
    let link = std::env::temp_dir().join(format!("muster-tty-{}", std::process::id()));
    let tty = Tty::pseudo(Some(&link)).unwrap();
    assert_eq!(tty.path(), link);
    let mut exchange = Exchange::default();
    let (traffic, door) = exchange.serve(tty, Limits::default(), Box::new(|_| Box::new(Echo))).unwrap();
    let mut program = std::fs::File::options().read(true).write(true).open(&link).unwrap();
    program.write_all(b"\x03raw\x04\n").unwrap();
    let mut bytes = [0; 6];
    program.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"\x03raw\x04\n");
    exchange.leave(door);
    until(|| traffic.tally().peers == 0);
    assert!(!link.exists());
}

#[test]
fn a_session_without_room_is_not_read_until_it_resumes() {
    struct Picky(Arc<Mutex<usize>>);
    impl Session for Picky {
        fn receive(&mut self, bytes: &[u8], _: &Arc<Peer>) -> Taken {
            let mut room = lock(&self.0);
            let taken = bytes.len().min(*room);
            *room -= taken;
            if taken < bytes.len() { Taken::Full(taken) } else { Taken::Bytes(taken) }
        }
    }
    let room = Arc::new(Mutex::new(1000));
    let mut exchange = Exchange::default();
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let session = Arc::clone(&room);
    let limits = Limits { message_bytes: 10_000, ..Limits::default() };
    let welcome: Welcome = Box::new(move |_| Box::new(Picky(Arc::clone(&session))));
    let (at, traffic, _) = exchange.listen(anywhere, limits, welcome).unwrap();
    let mut client = connect(at);
    client.write_all(&vec![0; 300_000]).unwrap();
    until(|| *lock(&room) == 0);
    std::thread::sleep(Duration::from_millis(20));
    let before = traffic.tally().received_bytes;
    assert!(before < 300_000 && traffic.tally().closed == 0);
    *lock(&room) = 1_000_000;
    exchange.resume();
    until(|| traffic.tally().received_bytes == 300_000);
}
