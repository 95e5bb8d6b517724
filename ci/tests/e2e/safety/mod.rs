//! Nothing leaks, nothing strays, nothing writes unasked: the promises of those three sections, held
//! from outside. Each file is one run (or a few) of many small scenarios in one browser.

mod canary;
mod echoes;
mod hosts;
mod lab;
mod late;
mod login;
mod masks;
mod model;
mod netns;
mod ocr;
mod secrets;
mod stage;
mod told;
mod writes;
