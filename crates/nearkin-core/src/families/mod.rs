//! Families of hash functions: features or vectors to fingerprints and signatures, one file per family.

pub mod cross_polytope;
pub mod minhash;
pub mod simhash;
pub mod sparse;
