//! Traces of real programs: sealed, edited and analysed.

mod advice;
mod editing;
mod growing;
mod sealing;
mod workspace;
