mod gate;
mod globs;
mod hosts;
mod names;
mod operations;
mod origins;
