//! What a report says about the machine and this process: processor, cores, memory, threads. It reads what the system
//! publishes as text and says so plainly when it does not know; it measures nothing and decides nothing, because
//! figures without the machine they come from cannot be compared.

use std::fs;
use std::thread;

/// The machine a figure was measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name; its architecture if it has none.
    pub cpu: String,
    /// How many threads this process can run at the same time.
    pub cores: usize,
    /// The operating system and its kernel.
    pub os: String,
    /// The widest vector instructions.
    pub simd: String,
    /// Main memory in MiB; 0 if unknown.
    pub memory_mb: u64,
}

/// Describes the machine this process runs on.
pub fn machine() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu_info = read("/proc/cpuinfo");
    let cpu = ["model name", "Model", "Hardware", "cpu model", "cpu"].iter().find_map(|key| value(&cpu_info, key, ':'));
    let release = read("/etc/os-release");
    let name = value(&release, "PRETTY_NAME", '=').map_or(std::env::consts::OS, |name| name.trim_matches('"'));
    let kernel = read("/proc/sys/kernel/osrelease");
    Machine {
        cpu: cpu.unwrap_or(std::env::consts::ARCH).to_owned(),
        cores: thread::available_parallelism().map_or(1, usize::from),
        os: format!("{name} {}", kernel.trim()).trim_end().to_owned(),
        simd: simd().to_owned(),
        memory_mb: mebibytes(&read("/proc/meminfo"), "MemTotal").unwrap_or(0),
    }
}

/// The most memory this process has had resident, in MiB, if the system tells.
pub fn peak_memory_mb() -> Option<u64> {
    mebibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// The names of the threads of this process, oldest first; empty if the system does not tell.
pub fn thread_names() -> Vec<String> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let id = |name: std::ffi::OsString| name.to_str()?.parse::<u32>().ok();
    let mut ids: Vec<u32> = tasks.flatten().filter_map(|task| id(task.file_name())).collect();
    ids.sort_unstable();
    // A thread may end between the listing and the reading.
    let name = |id| fs::read_to_string(format!("/proc/self/task/{id}/comm")).ok();
    ids.into_iter().filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}

/// The value in the first line `key SEPARATOR value` of a text.
fn value<'text>(text: &'text str, key: &str, separator: char) -> Option<&'text str> {
    let pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.map(|(left, right)| (left.trim(), right.trim())).find_map(|(left, right)| (left == key).then_some(right))
}

/// The amount in a line `key: 1234 kB`.
fn mebibytes(text: &str, key: &str) -> Option<u64> {
    let kibibytes: u64 = value(text, key, ':')?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024)
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn simd() -> &'static str {
    if is_x86_feature_detected!("avx512f") {
        "AVX-512"
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        "AVX2+FMA"
    } else if is_x86_feature_detected!("avx") {
        "AVX"
    } else {
        "SSE2"
    }
}

#[cfg(target_arch = "aarch64")]
fn simd() -> &'static str {
    "NEON"
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn simd() -> &'static str {
    "unknown"
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The system's number of the calling thread.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(crate) fn task() -> String {
        let link = fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// The processor time a thread of this process has used.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(crate) fn processor_time(task: &str) -> std::time::Duration {
        let figures = fs::read_to_string(format!("/proc/self/task/{task}/schedstat")).unwrap();
        std::time::Duration::from_nanos(figures.split_whitespace().next().unwrap().parse().unwrap())
    }

    #[test]
    fn values_are_found_by_their_key() {
        fn check(text: &str, key: &str, separator: char, expected: Option<&str>) {
            assert_eq!(value(text, key, separator), expected);
        }
        check("cpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon: fast\n", "model name", ':', Some("Xeon: fast"));
        check("NAME=\"Debian\"\nPRETTY_NAME=\"Debian 13\"", "PRETTY_NAME", '=', Some("\"Debian 13\""));
        check("processor: 0", "model name", ':', None);
    }

    #[test]
    fn amounts_of_memory_are_in_mebibytes() {
        fn check(text: &str, expected: Option<u64>) {
            assert_eq!(mebibytes(text, "MemTotal"), expected);
        }
        check("MemTotal:       16384 kB\nMemFree: 1 kB", Some(16));
        check("MemTotal: many kB", None);
        check("MemFree: 1 kB", None);
    }

    #[test]
    fn the_machine_is_described() {
        let machine = machine();
        assert!(machine.cores >= 1);
        assert!(!machine.cpu.is_empty() && !machine.os.is_empty() && !machine.simd.is_empty());
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn linux_tells_memory_and_threads() {
        assert!(machine().memory_mb > 0);
        assert!(peak_memory_mb().unwrap() > 0);
        let named = thread::Builder::new().name("told".to_owned());
        let names = named.spawn(thread_names).unwrap().join().unwrap();
        assert!(names.contains(&"told".to_owned()), "{names:?}");
    }
}
