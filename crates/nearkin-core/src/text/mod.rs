//! Text to weighted features: normalise (`unicode`, `fold`, `numbers`), cut words (`ascii_words`, `cut`, `jieba`), drop stop words, tokenise
//! (`tokenizer`), weigh (`idf`, `textrank`) and keep the heaviest (`keywords`). `words` holds words that were found, `contents` what
//! exact copies share; `columns` reads texts where Arrow has them.

mod ascii_words;
pub mod chunking;
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
pub mod stopwords;
pub mod textrank;
pub mod tokenizer;
pub mod unicode;
pub mod words;
