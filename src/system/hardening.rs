//! Keeping our memory out of files and away from neighbours (threat T9).

/// No core dumps of this process or its children, and no reading of our memory or
/// environment by other processes of the same user. Returns what could not be set.
pub fn keep_memory_private() -> Vec<&'static str> {
    let mut failed = Vec::new();
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `none` is a valid rlimit that outlives the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) } != 0 {
        failed.push("core dumps could not be switched off");
    }
    // SAFETY: PR_SET_DUMPABLE takes plain integers.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } != 0 {
        failed.push("this process could not be made undumpable");
    }
    failed
}

/// Are we root? Chromium's sandbox can't start then.
pub fn is_root() -> bool {
    // SAFETY: geteuid has no arguments and can't fail.
    unsafe { libc::geteuid() == 0 }
}
