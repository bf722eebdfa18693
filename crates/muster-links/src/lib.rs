//! How robots speak to programs outside. A sensor or actuator knows nothing of middleware: a **link** binds a named channel
//! of a robot to a protocol, by configuration.
//!
//! Codecs are pure functions over bytes; [`net`] is the thin shell of sockets around them, one thread for all. What comes in
//! waits for the next boundary between two windows, at which a link may [`attend`](link::Link::attend) to it; what goes out
//! is serialised on the thread of messages and waits in bounded queues for peers to read. Slow, silent and dying peers never
//! stall the loop, except those a scenario declares in lock step.

pub mod controller;
pub mod delivery;
pub mod endpoint;
pub mod link;
pub mod logs;
pub mod morse;
pub mod net;
pub mod protocol;
pub mod record;
pub mod ros;
pub mod scip;
