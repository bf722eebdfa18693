//! Pseudo-terminals and serial ports: lines without a connection, whose peer is always there.

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{self, OptionalActions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// A serial port and its speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serial {
    /// Its device.
    pub device: PathBuf,
    /// Bits a second.
    pub baud: u32,
}

/// An open line.
pub struct Tty {
    line: OwnedFd,
    /// The other side of a pseudo-terminal: while it is open, the line does not break when a program closes it.
    _slave: Option<OwnedFd>,
    /// A name for the other side, taken away in the end.
    link: Option<PathBuf>,
    at: PathBuf,
}

impl Tty {
    /// A pseudo-terminal; programs open `link`, which must not exist or be such a link left by another run, or without
    /// one [`Tty::path`].
    pub fn pseudo(link: Option<&Path>) -> io::Result<Self> {
        let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&line)?;
        unlockpt(&line)?;
        let name = ptsname(&line, Vec::new())?;
        let at = PathBuf::from(name.to_str().map_err(io::Error::other)?);
        let slave = rustix::fs::open(&at, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        make_raw(&slave)?;
        set_nonblocking(&line)?;
        if let Some(link) = link {
            if link.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                std::fs::remove_file(link)?;
            }
            std::os::unix::fs::symlink(&at, link)?;
        }
        Ok(Self { line, _slave: Some(slave), link: link.map(Path::to_owned), at })
    }

    /// A serial port.
    pub fn serial(port: &Serial) -> io::Result<Self> {
        let line = rustix::fs::open(&port.device, OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK, Mode::empty())?;
        make_raw(&line)?;
        let mut attributes = termios::tcgetattr(&line)?;
        attributes.set_speed(port.baud)?;
        termios::tcsetattr(&line, OptionalActions::Now, &attributes)?;
        Ok(Self { line, _slave: None, link: None, at: port.device.clone() })
    }

    /// What a program opens.
    pub fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.at)
    }

    pub(super) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.line, bytes)?)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.line, bytes)?)
    }
}

impl AsRawFd for Tty {
    fn as_raw_fd(&self) -> RawFd {
        self.line.as_raw_fd()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            // somebody may have taken it away already
            _ = std::fs::remove_file(link);
        }
    }
}

/// Bytes pass as they are: no echo, no lines, no signals.
fn make_raw(line: &OwnedFd) -> io::Result<()> {
    let mut attributes = termios::tcgetattr(line)?;
    attributes.make_raw();
    Ok(termios::tcsetattr(line, OptionalActions::Now, &attributes)?)
}

fn set_nonblocking(line: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(line)?;
    Ok(rustix::fs::fcntl_setfl(line, flags | OFlags::NONBLOCK)?)
}
