//! From text to weighted features: normalize (`unicode`, `fold`, `numbers`), segment words (`ascii_words`, `code`,
//! `cut`, `jieba`), drop stop words, tokenize (`tokenizer`), weight (`idf`, `textrank`) and keep the heaviest (`keywords`).
//! `words` stores lists of words, `contents` identifies exact copies; `soundness` counts damaged words; `columns` reads texts in Arrow's layouts.

mod ascii_words;
pub mod chunking;
mod code;
pub mod columns;
pub mod contents;
pub mod cut;
pub mod distinguishers;
pub mod edits;
pub mod fold;
pub mod idf;
pub mod jieba;
pub mod keywords;
pub mod numbers;
pub(crate) mod partial_sort;
pub mod soundness;
pub mod stopwords;
pub mod textrank;
pub mod tokenizer;
pub mod unicode;
pub mod words;
