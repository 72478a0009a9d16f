//! What the machine says: time of the processor, memory, files. What a system can't tell is left out.

use std::path::Path;
use std::time::Instant;

use recordari::{Error, Result};

/// The seconds that all threads of this process have worked.
#[cfg(unix)]
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(unix))]
pub fn cpu_seconds() -> f64 {
    0.0
}

/// Keeps this process and all threads that it will start on these cores.
pub fn pin(cpus: &str) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let wrong = || Error::invalid("cpus", "must be a list of core numbers, such as 0,1");
    let cores = cpus.split(',').map(|core| core.trim().parse::<usize>().map_err(|_| wrong()));
    let cores = cores.collect::<Result<Vec<_>>>()?;
    pin_to(&cores).map_err(|()| wrong())
}

/// The cores that are not in this list, as such a list; none if none are left, and for an empty list, which
/// stands for all, where there is more than one core to share.
pub fn other_cores(cpus: &str) -> Result<Option<String>> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus.is_empty() {
        return Ok((all > 1).then(String::new));
    }
    let taken: Vec<&str> = cpus.split(',').map(str::trim).collect();
    let others: Vec<String> =
        (0..online()).map(|core| core.to_string()).filter(|core| !taken.contains(&core.as_str())).collect();
    Ok((!others.is_empty()).then(|| others.join(",")))
}

/// How many cores the machine has, whatever this process is held to.
fn online() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let last = text.trim().rsplit(['-', ',']).next().and_then(|core| core.parse::<usize>().ok());
    last.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |last| last + 1)
}

#[cfg(target_os = "linux")]
fn pin_to(cores: &[usize]) -> std::result::Result<(), ()> {
    let mut set = rustix::thread::CpuSet::new();
    for core in cores {
        if *core >= rustix::thread::CpuSet::MAX_CPU {
            return Err(());
        }
        set.set(*core);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(drop)
}

#[cfg(not(target_os = "linux"))]
fn pin_to(_: &[usize]) -> std::result::Result<(), ()> {
    Ok(())
}

/// The memory of this process in MB: its share of all, and of what is in no file.
pub fn memory_mb() -> Option<(f64, f64)> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let field = |name: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    };
    Some((field("Pss:")?, field("Pss_Anon:")? + field("Pss_Shmem:").unwrap_or(0.0)))
}

/// The load of the machine over one, five and fifteen minutes.
pub fn load() -> serde_json::Value {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let numbers: Vec<f64> = text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    serde_json::json!(numbers)
}

/// The bytes that the files below a folder take on the disk.
pub fn disk_bytes(folder: &Path) -> u64 {
    files(folder).iter().map(|path| blocks(path)).sum()
}

#[cfg(unix)]
fn blocks(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| std::os::unix::fs::MetadataExt::blocks(&found) * 512)
}

#[cfg(not(unix))]
fn blocks(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(Error::io(to))?;
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap_or(&path));
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        std::fs::copy(&path, &target).map_err(Error::io(&path))?;
    }
    Ok(())
}

/// Takes the files below a folder out of the memory of the system, so that they are read anew.
pub fn evict(folder: &Path) {
    #[cfg(target_os = "linux")]
    for path in files(folder) {
        if let Ok(file) = std::fs::File::open(path) {
            let _ = file.sync_all();
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The milliseconds of a fixed piece of work, 20,000 products of 384 numbers: how busy is the machine?
pub fn calibrate() -> f64 {
    let rows = vec![1.0f32; 20_000 * 384];
    let query = vec![1.0f32; 384];
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let started = Instant::now();
            let sum: f32 = rows.chunks_exact(384).map(|row| recordari::simd::dot_f32(row, &query)).sum();
            std::hint::black_box(sum);
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
