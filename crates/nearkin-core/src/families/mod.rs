//! Families of hash functions: features or vectors to fingerprints and signatures, one file a family.

pub mod cross_polytope;
pub mod minhash;
pub mod simhash;
pub mod sparse;
