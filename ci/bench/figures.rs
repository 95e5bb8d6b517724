//! Medians and the machine's load: a figure without its load says little on a shared machine.

/// The middle of the values, in milliseconds.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Of values measured in pairs: the median of their ratios.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let each: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    median(&each)
}

/// "load 1.2, 2 cores".
pub fn load() -> String {
    let average = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = average.split(' ').next().unwrap_or("?").to_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("load {first}, {cores} cores")
}
