//! Programs outside: a client over TCP or a line, and a loop that goes on while it speaks.

use muster::Simulation;
use muster_core::time::SimTime;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection to a link.
pub enum Client {
    Tcp(TcpStream),
    Line(File),
}

impl Client {
    /// Connects to host and port, or opens a line.
    pub fn connect(at: &str) -> Self {
        if at.starts_with('/') {
            return Self::Line(File::options().read(true).write(true).open(at).unwrap());
        }
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self::Tcp(stream)
    }

    /// Sends a text.
    pub fn say(&mut self, text: &str) {
        match self {
            Self::Tcp(stream) => stream.write_all(text.as_bytes()).unwrap(),
            Self::Line(line) => line.write_all(text.as_bytes()).unwrap(),
        }
    }

    /// What is there to read, at least a byte.
    pub fn some(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 65536];
        let count = match self {
            Self::Tcp(stream) => stream.read(&mut bytes).unwrap(),
            Self::Line(line) => line.read(&mut bytes).unwrap(),
        };
        assert!(count > 0, "the link is gone");
        bytes.truncate(count);
        bytes
    }

    /// Reads byte by byte up to an end.
    pub fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(end) {
            match self {
                Self::Tcp(stream) => stream.read_exact(&mut byte).unwrap(),
                Self::Line(line) => line.read_exact(&mut byte).unwrap(),
            }
            bytes.push(byte[0]);
        }
        bytes
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        String::from_utf8(self.until(b"\n")).unwrap().trim_end().to_owned()
    }

    /// Says a line and hears one.
    pub fn ask(&mut self, line: &str) -> String {
        self.say(&format!("{line}\n"));
        self.line()
    }
}

/// Walks windows of a simulation, a little slower than it could, while a client speaks on a thread of its own.
pub fn while_it_runs<T: Send + 'static>(sim: &mut Simulation, client: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(client);
    while !thread.is_finished() {
        step(sim);
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Attends to links and walks one window, as a run does.
pub fn step(sim: &mut Simulation) {
    sim.attend(Default::default());
    let now = sim.world().time();
    let exchange = sim.next_exchange();
    let end = if exchange > now { exchange } else { SimTime::NEVER };
    sim.walk_window(end.min(now + SimTime::from_s(0.02)));
    sim.flush();
}
