//! Claims: published statements in a form that data can confirm or refute.
//!
//! A claim is stored with its threshold before there is data ([`Claim`]). The verdict is reached in [`judge()`].

mod claim;
mod evidence;
mod figure;
mod judge;

pub use claim::{
    Best, Bounds, Claim, DeviceKind, Devices, Expected, Extreme, Form, Listed, Origin, Pair, Pairs,
    Precondition, Single,
};
pub use evidence::{DeviceLevels, Evidence};
pub use judge::{Judged, Verdict, judge};
