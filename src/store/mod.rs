//! (room not built yet)
