//! Messages of ROS 2 without ROS 2: how they are written as bytes ([`cdr`]), what they hold ([`messages`]), and which
//! message a sensor's sample becomes ([`sensor`]). Pure: no file, no socket, no clock.
//!
//! Conventions are those of REP-103 (units and axes), REP-105 (frames) and REP-117 (ranges); names of topics are told by
//! [`sensor::Topic`].

pub mod cdr;
pub mod messages;
pub mod names;
pub mod sensor;
