//! Lists of words as spans: one text, and the start and end of each word in it.
//!
//! Words of an existing text are spans of a copy of it, 16 bytes per word; words that are built one by one are
//! concatenated. A copy has [`ROOM`] bytes of capacity after the text, so that a reader that loads words in blocks can
//! pad it without another copy.

use crate::{Result, alloc};

/// Bytes of capacity after a text.
pub const ROOM: usize = 16;

/// Words of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    text: Vec<u8>,
    /// Start and end of each word.
    spans: Vec<(usize, usize)>,
}

impl Words {
    /// Create the words `spans` of `text`, if there are any.
    ///
    /// # Errors
    /// Memory runs out for a copy of the text.
    pub fn of_text(text: &str, spans: Vec<(usize, usize)>) -> Result<Self> {
        let mut copy = Vec::new();
        if !spans.is_empty() {
            copy = alloc::try_with_capacity(text.len() + ROOM)?;
            copy.extend_from_slice(text.as_bytes());
        }
        Ok(Self { text: copy, spans })
    }

    /// Create concatenated words.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn of<'a>(words: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<Self> {
        let mut spans = alloc::try_with_capacity(words.len())?;
        let mut text = alloc::try_with_capacity(words.clone().map(<[u8]>::len).sum::<usize>() + ROOM)?;
        for word in words {
            let start = text.len();
            text.extend_from_slice(word);
            spans.push((start, text.len()));
        }
        Ok(Self { text, spans })
    }

    /// Return the number of words.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if there are no words.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Return the words as bytes.
    pub fn bytes(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.spans.iter().map(|&(start, end)| &self.text[start..end])
    }

    /// Return the words as strings.
    pub fn strings(&self) -> impl ExactSizeIterator<Item = &str> {
        // Words consist of complete characters of normalized UTF-8.
        self.bytes().map(|word| std::str::from_utf8(word).unwrap_or_default())
    }

    /// Return the text with [`ROOM`] zeros after it, and the start and end of each word.
    pub fn into_padded(mut self) -> (Vec<u8>, Vec<(usize, usize)>) {
        self.text.resize(self.text.len() + ROOM, 0);
        (self.text, self.spans)
    }
}

/// Concatenate all words; return the end of each, and the number of words up to the end of each text; both begin with
/// 0.
///
/// # Errors
/// Memory runs out.
pub fn joined(found: &[Words]) -> Result<(Vec<u8>, Vec<i64>, Vec<i64>)> {
    let words = || found.iter().flat_map(Words::bytes);
    let mut bytes = alloc::try_with_capacity(words().map(<[u8]>::len).sum())?;
    let (mut ends, mut lists) =
        (alloc::try_with_capacity(words().count() + 1)?, alloc::try_with_capacity(found.len() + 1)?);
    ends.push(0);
    lists.push(0);
    for words in found {
        for word in words.bytes() {
            bytes.extend_from_slice(word);
            ends.push(bytes.len() as i64);
        }
        lists.push(ends.len() as i64 - 1);
    }
    Ok((bytes, ends, lists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_come_back_whichever_way_they_were_added(lists in prop::collection::vec(prop::collection::vec("\\PC{1,5}", 0..5), 0..4)) {
            let mut found = Vec::new();
            for list in &lists {
                let text = list.concat();
                let mut start = 0;
                let span = |word: &String| {
                    start += word.len();
                    (start - word.len(), start)
                };
                let spans = list.iter().map(span).collect();
                let parts = Words::of_text(&text, spans).expect("room");
                let pushed = Words::of(list.iter().map(String::as_bytes)).expect("room");
                prop_assert_eq!((list.len(), list.is_empty()), (parts.len(), parts.is_empty()));
                prop_assert_eq!(list, &parts.strings().collect::<Vec<_>>());
                prop_assert_eq!(&pushed, &parts);
                let (padded, spans) = parts.clone().into_padded();
                prop_assert_eq!([text.as_bytes(), &[0; ROOM]].concat(), padded);
                prop_assert_eq!(list.len(), spans.len());
                found.push(parts);
            }
            let (bytes, ends, counts) = joined(&found).expect("room");
            let all = lists.concat();
            prop_assert_eq!(all.concat().into_bytes(), bytes.clone());
            let words: Vec<&[u8]> = ends.windows(2).map(|pair| &bytes[pair[0] as usize..pair[1] as usize]).collect();
            prop_assert_eq!(all.iter().map(String::as_bytes).collect::<Vec<_>>(), words);
            let lengths: Vec<usize> = counts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect();
            prop_assert_eq!(lists.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
        }
    }
}
