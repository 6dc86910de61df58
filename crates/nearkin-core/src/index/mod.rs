//! Indexes: one for each kind of value, with one contract and shared rows (`rows`: ids, row numbers, tombstones).

/// Define an enum whose variants have names, with `ALL`, `name` and `parse`.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $name:ident($parameter:literal) {
            $($(#[$doc:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All values, in the order of their numbers in files.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Return the name that Python uses.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Return the value with a name.
            ///
            /// # Errors
            /// The name is unknown.
            pub fn parse(name: &str) -> $crate::Result<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| {
                    let [first @ .., last] = [$($text),+].map(|text| format!("{text:?}"));
                    let allowed = format!("{} or {last}", first.join(", "));
                    $crate::Error::parameter($parameter, format!("{name:?}"), allowed)
                })
            }
        }
    };
}

pub mod bands;
pub mod buckets;
pub mod components;
pub mod digests;
pub mod hamming;
pub mod hits;
pub mod lsh;
pub mod rows;
pub mod sketches;
pub mod tlsh;
