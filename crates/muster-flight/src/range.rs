//! The one error of this crate: a number of a specification outside the range in which the arithmetic cannot overflow.

use core::fmt;

/// A field of a specification is outside its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange {
    /// The field, or the quantity derived from several, with its unit.
    pub field: &'static str,
    /// What it was.
    pub found: u128,
    /// The least value that is accepted.
    pub min: u128,
    /// The greatest value that is accepted.
    pub max: u128,
}

impl OutOfRange {
    /// The first of `rows` whose value lies outside; a row that lies inside is no error.
    pub(crate) const fn first(rows: &[Self]) -> Option<Self> {
        let mut index = 0;
        while index < rows.len() {
            let row = rows[index];
            if row.found < row.min || row.found > row.max {
                return Some(row);
            }
            index += 1;
        }
        None
    }
}

/// A row for [`OutOfRange::first`].
pub(crate) const fn row(field: &'static str, found: u128, min: u128, max: u128) -> OutOfRange {
    OutOfRange { field, found, min, max }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {} to {}", self.field, self.found, self.min, self.max)
    }
}

impl core::error::Error for OutOfRange {}
