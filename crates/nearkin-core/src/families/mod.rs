//! Families of hash functions: features or vectors to fingerprints and signatures, one file per family; and the recipe, which
//! says how texts become either.

pub mod cross_polytope;
pub mod datasketch;
pub mod minhash;
pub mod recipe;
pub mod simhash;
pub mod sketch;
pub mod sparse;
