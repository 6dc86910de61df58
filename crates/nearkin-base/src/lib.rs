//! What the kernels of nearkin stand on, up to the features of a text; nearkin-core offers these modules as its own.
//!
//! They are a crate of their own because every job spends its time in them: a first look optimises this crate and no other
//! (`profile.quick`), and a release build compiles it beside nearkin-core.
//!
//! A module uses only modules to its left: `error` · `parallel` · `alloc` · `cancel` · `cpu` · `hash` · `records` · `text`.

pub mod alloc;
pub mod cancel;
pub mod cpu;
pub mod error;
pub mod hash;
pub mod parallel;
pub mod records;
pub mod text;

pub use error::{Error, Result};
