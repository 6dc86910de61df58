//! Character folds of a recipe, in addition to normalization and case.
//!
//! | fold | effect |
//! |---|---|
//! | `lookalikes` | letters to their prototypes (UTS #39, confusables): Cyrillic `а` to `a`, Greek `Ο` to `O`, `œ` to `oe` |
//! | `accents` | canonical decomposition; nonspacing marks after letters of Latin, Greek and Cyrillic are removed |
//! | `hans` | traditional Chinese characters to simplified ones, character by character |
//!
//! They apply in this order, after normalization and before the case rule. With `D` and `C` the canonical decomposition
//! and composition of UAX #15, `L` and `H` the tables:
//! ```text
//! lookalikes(t) = C(L(D(t)))        accents(t) = C(unmarked(D(t)))        hans(t) = H(t)
//! ```
//! A mark (Mn) is removed if the nearest preceding character that is not a mark (M) has the script Latin, Greek or
//! Cyrillic.
//!
//! The tables are stored in `data/fold-lookalikes.tsv` and `data/fold-hans.tsv`, which name versions and licences;
//! `tools/pack_folds.py` documents their contents. They do not change ASCII. Each fold is idempotent. Cost: no extra
//! cost for a text without combining marks, because `unicode::CharMap` stores the result for each character; the tables
//! are read once per process, in about a millisecond.

use std::collections::HashMap;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, Script};

use crate::alloc::TryOnce;
use crate::{Error, Result, alloc};

static SIMPLIFIED: &str = include_str!("../../data/fold-hans.tsv");
static PROTOTYPES: &str = include_str!("../../data/fold-lookalikes.tsv");

/// A set of folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    bits: u8,
}

const HANS: u8 = 1;
const LOOKALIKES: u8 = 2;
const ACCENTS: u8 = 4;

impl Folds {
    /// Number of sets of folds.
    pub const COUNT: usize = 8;

    /// Return the folds with these names.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(names: &[impl AsRef<str>]) -> Result<Self> {
        let mut bits = 0;
        for name in names {
            bits |= match name.as_ref() {
                "hans" => HANS,
                "lookalikes" => LOOKALIKES,
                "accents" => ACCENTS,
                other => return Err(Error::parameter("fold", other, "hans, lookalikes, accents")),
            };
        }
        Ok(Self { bits })
    }

    /// Return the number of the set, less than [`Folds::COUNT`].
    pub fn number(self) -> usize {
        usize::from(self.bits)
    }

    /// True if texts are unchanged.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// True if texts are decomposed and composed.
    pub fn composes(self) -> bool {
        self.has(LOOKALIKES | ACCENTS)
    }

    /// True if marks are removed depending on the letter before them.
    pub fn removes_marks(self) -> bool {
        self.has(ACCENTS)
    }

    fn has(self, folds: u8) -> bool {
        self.bits & folds != 0
    }

    /// True if an ideograph may be replaced.
    ///
    /// # Errors
    /// Memory runs out for the table.
    pub fn simplifies(self, c: char) -> Result<bool> {
        Ok(self.has(HANS) && simplified()?.contains_key(&c))
    }

    /// Write the folded text to `out` (cleared first).
    ///
    /// # Errors
    /// Memory runs out.
    pub fn apply(self, text: &str, out: &mut String) -> Result<()> {
        out.clear();
        append(text.chars(), out)?;
        if self.has(LOOKALIKES) {
            let table = prototypes()?;
            composed(out, |decomposed, to| {
                for c in decomposed {
                    match table.get(&c) {
                        Some(prototype) => append(prototype.chars(), to)?,
                        None => push(c, to)?,
                    }
                }
                Ok(())
            })?;
        }
        if self.has(ACCENTS) {
            composed(out, unmarked)?;
        }
        if self.has(HANS) {
            let table = simplified()?;
            let read = std::mem::take(out);
            append(read.chars().map(|c| table.get(&c).copied().unwrap_or(c)), out)?;
        }
        Ok(())
    }
}

/// Replace a text by the composition of its decomposition after `change`.
fn composed(
    text: &mut String,
    change: impl FnOnce(&mut dyn Iterator<Item = char>, &mut String) -> Result<()>,
) -> Result<()> {
    let mut changed = String::new();
    change(&mut DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars()), &mut changed)?;
    text.clear();
    append(ComposingNormalizerBorrowed::new_nfc().normalize_iter(changed.chars()), text)
}

/// Append a decomposed text without the marks of Latin, Greek and Cyrillic letters.
fn unmarked(decomposed: &mut dyn Iterator<Item = char>, out: &mut String) -> Result<()> {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let scripts = CodePointMapData::<Script>::new();
    let mut accented = false;
    for c in decomposed {
        match categories.get(c) {
            GeneralCategory::NonspacingMark if accented => continue,
            GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark => {}
            _ => accented = matches!(scripts.get(c), Script::Latin | Script::Greek | Script::Cyrillic),
        }
        push(c, out)?;
    }
    Ok(())
}

fn append(characters: impl Iterator<Item = char>, out: &mut String) -> Result<()> {
    alloc::try_reserve_str(out, characters.size_hint().0)?;
    for c in characters {
        push(c, out)?;
    }
    Ok(())
}

fn push(c: char, out: &mut String) -> Result<()> {
    if out.capacity() - out.len() < 4 {
        alloc::try_reserve_str(out, out.len().max(64))?;
    }
    out.push(c);
    Ok(())
}

/// Return the rows of a table: one or more characters, a tab, and the replacement.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'))
}

/// Traditional characters and their simplified forms.
fn simplified() -> Result<&'static HashMap<char, char>> {
    static TABLE: TryOnce<HashMap<char, char>> = TryOnce::new();
    TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        alloc::try_reserve_map(&mut table, rows(SIMPLIFIED).count())?;
        table.extend(rows(SIMPLIFIED).filter_map(|(c, form)| Some((c.chars().next()?, form.chars().next()?))));
        Ok(table)
    })
}

/// Letters and their prototypes.
fn prototypes() -> Result<&'static HashMap<char, Box<str>>> {
    static TABLE: TryOnce<HashMap<char, Box<str>>> = TryOnce::new();
    TABLE.get_or_init(|| {
        let code = |part: &str| char::from_u32(u32::from_str_radix(part, 16).ok()?);
        let mut table = HashMap::new();
        alloc::try_reserve_map(&mut table, rows(PROTOTYPES).count())?;
        table.extend(rows(PROTOTYPES).filter_map(|(c, form)| {
            let form: Option<String> = form.split(' ').map(code).collect();
            Some((code(c)?, form?.into()))
        }));
        Ok(table)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(names: &[&str], text: &str) -> String {
        let mut out = String::new();
        Folds::new(names).expect("known").apply(text, &mut out).expect("room");
        out
    }

    #[test]
    fn every_row_of_the_tables_is_read() {
        assert_eq!(3222, simplified().expect("room").len());
        assert_eq!(3795, prototypes().expect("room").len());
        assert!(simplified().expect("room").keys().all(|c| !c.is_ascii()));
        assert!(prototypes().expect("room").keys().all(|c| !c.is_ascii()));
    }

    #[test]
    fn known_texts_become_what_the_rules_say() {
        assert_eq!("万里长城，乾隆后", folded(&["hans"], "萬里長城，乾隆後").replace('干', "乾"));
        assert_eq!("paypal", folded(&["lookalikes"], "раураl"));
        // ASCII is unchanged, so a lookalike of I becomes I and not its prototype l.
        assert_eq!("IBM IBM", folded(&["lookalikes"], "ΙΒΜ ІВМ"));
        assert_eq!("I1m0l|", folded(&["lookalikes"], "I1m0l|"));
        // Digits, symbols and ideographs are unchanged.
        assert_eq!("١٠ — ¡ 吴口", folded(&["lookalikes"], "١٠ — ¡ 吴口"));
        assert_eq!(
            "Creme brulee, Elena, ελληνικα, и е ø ł",
            folded(&["accents"], "Crème brûlée, Élena, ελληνικά, й ё ø ł")
        );
        assert_eq!("o l", folded(&["lookalikes", "accents"], "ø ł"));
        // Vowels and dakuten are letters.
        for text in ["हिन्दी", "ガギグ", "ไทยที่", "한국어", "שָׁלוֹם"] {
            assert_eq!(text, folded(&["accents"], text).as_str());
        }
        assert!(Folds::new(&["han"]).is_err());
    }

    proptest! {
        #[test]
        fn folds_are_idempotent_and_leave_ascii(
            text in "[ -~]{0,9}|[a-zA-Zà-öА-яёΑ-ωά\u{300}-\u{345}]{0,20}|[一-龥]{0,20}|\\PC{0,40}", bits in 0_u8..8
        ) {
            let folds = Folds { bits };
            let (mut once, mut twice) = (String::new(), String::new());
            folds.apply(&text, &mut once).expect("room");
            folds.apply(&once, &mut twice).expect("room");
            prop_assert_eq!(&once, &twice);
            if text.is_ascii() {
                prop_assert_eq!(&text, &once);
            }
        }
    }
}
