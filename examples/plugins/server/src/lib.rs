//! An extension that serves a port: other programs read and set properties of a running simulation with a line of text.
//!
//! ```text
//! $ nc localhost 5800
//! get rover.position_m
//! 1.25 0 0
//! set rover.setpoint 1 0 0 0
//! ok
//! ask rover goto 3 2
//! ok
//! ```
//!
//! A thread of its own talks to the clients; between windows it exchanges questions and answers with the simulation, which
//! never waits for it. What clients ask for are commands from outside, like those of any link.

use muster_plugin::{Config, Extension, Field, Kind, Window, plugin};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A line from a client, and where the answer goes.
type Question = (String, SyncSender<String>);

struct Server {
    port: u16,
    running: Mutex<Option<Running>>,
}

struct Running {
    questions: Receiver<Question>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Questions answered between two windows at most: one client cannot hold up the simulation.
const AT_ONCE: usize = 64;
/// The longest line a client may send.
const LINE_MAX: u64 = 4096;
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Extension for Server {
    const KIND: Kind = Kind::new("server", "Serves properties of robots on a port of this machine.")
        .fields(&[Field::integer("port", "The port.").or("5800").within(1.0, 65535.0)]);

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { port: config.integer("port") as u16, running: Mutex::default() })
    }

    fn init(&self) -> Result<(), String> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).map_err(|error| format!("port {}: {error}", self.port))?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let (sender, questions) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || serve(&listener, &sender, &stop)
        });
        *self.lock() = Some(Running { questions, stop, thread });
        Ok(())
    }

    fn window(&self, window: &mut Window<'_>) -> Result<(), String> {
        if let Some(running) = &*self.lock() {
            for (line, answer) in running.questions.try_iter().take(AT_ONCE) {
                // a client that went away needs no answer
                _ = answer.try_send(reply(&line, window));
            }
        }
        Ok(())
    }

    fn shutdown(&self) {
        if let Some(running) = self.lock().take() {
            running.stop.store(true, Ordering::Relaxed);
            drop(running.questions);
            _ = running.thread.join();
        }
    }
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a line.
fn reply(line: &str, window: &mut Window<'_>) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers = |words: &[&str]| words.iter().map(|word| word.parse::<f64>()).collect::<Result<Vec<f64>, _>>();
    let done = |outcome: Result<(), String>| outcome.map_or_else(|why| format!("error {why}"), |()| "ok".to_owned());
    match words.as_slice() {
        ["get", property] => match window.get(property) {
            Some(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            None => format!("error no property {property}"),
        },
        ["set", property, values @ ..] => match numbers(values) {
            Ok(values) => done(window.set(property, &values)),
            Err(error) => format!("error {error}"),
        },
        ["ask", robot, service, values @ ..] => match numbers(values) {
            Ok(values) => done(window.ask(robot, service, &values)),
            Err(error) => format!("error {error}"),
        },
        ["robots"] => window.robots().join(" "),
        ["time"] => format!("{}", window.time_ns() as f64 * 1e-9),
        _ => "error expected get, set, ask, robots or time".to_owned(),
    }
}

/// Talks to clients until it is told to stop.
fn serve(listener: &TcpListener, questions: &Sender<Question>, stop: &Arc<AtomicBool>) {
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((client, _)) if clients.len() < 16 => {
                let (questions, stop) = (questions.clone(), Arc::clone(stop));
                clients.push(std::thread::spawn(move || _ = talk(&client, &questions, &stop)));
            }
            Ok(_) => (),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
        clients.retain(|client| !client.is_finished());
    }
    for client in clients {
        _ = client.join();
    }
}

fn talk(client: &TcpStream, questions: &Sender<Question>, stop: &AtomicBool) -> std::io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(LOOK_EVERY))?;
    let (mut reader, mut writer, mut line) = (BufReader::new(client), client, String::new());
    while !stop.load(Ordering::Relaxed) {
        match reader.by_ref().take(LINE_MAX).read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) if line.ends_with('\n') => {
                let (sender, answer) = sync_channel(1);
                if questions.send((std::mem::take(&mut line), sender)).is_err() {
                    return Ok(());
                }
                let Ok(answer) = answer.recv() else { return Ok(()) };
                writeln!(writer, "{answer}")?;
            }
            Ok(_) if line.len() as u64 >= LINE_MAX => return Ok(()),
            Ok(_) => (),
            // nothing came for a while
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

plugin! {
    name: "server", version: env!("CARGO_PKG_VERSION"), about: "Serves properties of robots on a port.",
    kinds: [extension Server],
}
