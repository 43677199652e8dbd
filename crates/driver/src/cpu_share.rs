//! How busy the processors are that this process may use: the share that its control group leaves it, or else the
//! machine's.
//!
//! A container with one processor of a machine of sixty-four is busy long before the machine is. The files that say so
//! are the kernel's, on Linux only; they are read through a function, so that tests bring their own.

use std::time::Duration;

/// The file that says which control groups a process is in, and where control groups are.
const MEMBERSHIP: &str = "/proc/self/cgroup";
const GROUPS: &str = "/sys/fs/cgroup";
/// The file that says how busy the machine is.
const MACHINE: &str = "/proc/stat";

/// The text of a file, if there is one.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the processors have done so far. Two of them tell how busy the processors were in between.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProcessorTime {
    at: Duration,
    work: Work,
}

#[derive(Clone, Debug, PartialEq)]
enum Work {
    /// Each control group with a limit that this process is in.
    Groups(Vec<GroupWork>),
    Machine(Ticks),
}

/// How long a control group has worked, and how many processors it may keep busy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GroupWork {
    used: Duration,
    processors: f64,
}

/// How long the machine's processors have idled, and how long there was anything, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    total: u64,
}

impl ProcessorTime {
    /// What has been done by now, which is `at`; `None` where nobody says so.
    pub(crate) fn read(file: ReadFile<'_>, at: Duration) -> Option<Self> {
        let groups = limited_groups(file);
        let work = if groups.is_empty() {
            Work::Machine(Ticks::parse(&file(MACHINE)?)?)
        } else {
            Work::Groups(groups)
        };
        Some(Self { at, work })
    }

    /// How busy the processors were, from 0 to 1; `None` if too little time has passed, or the limits are others.
    pub(crate) fn load_since(&self, before: &Self) -> Option<f64> {
        match (&self.work, &before.work) {
            (Work::Machine(now), Work::Machine(before)) => now.load_since(*before),
            (Work::Groups(now), Work::Groups(then)) if now.len() == then.len() => {
                let elapsed = self.at.checked_sub(before.at).filter(|elapsed| !elapsed.is_zero())?;
                let loads = now.iter().zip(then).map(|(now, then)| now.load_since(then, elapsed));
                // The group that is closest to its limit is the one that is felt.
                loads.reduce(f64::max)
            }
            (Work::Groups(_), Work::Groups(_) | Work::Machine(_)) | (Work::Machine(_), Work::Groups(_)) => {
                None
            }
        }
    }
}

impl GroupWork {
    fn load_since(&self, before: &Self, elapsed: Duration) -> f64 {
        let used = self.used.saturating_sub(before.used).as_secs_f64();
        (used / (elapsed.as_secs_f64() * self.processors)).min(1.0)
    }
}

/// The groups that this process is in and that have a limit, outermost first.
fn limited_groups(file: ReadFile<'_>) -> Vec<GroupWork> {
    let Some(membership) = file(MEMBERSHIP) else { return Vec::new() };
    match unified_path(&membership) {
        Some(path) if file(&format!("{GROUPS}/cgroup.controllers")).is_some() => {
            levels(path).filter_map(|level| unified_group(file, &format!("{GROUPS}{level}"))).collect()
        }
        Some(_) | None => {
            let Some(path) = controller_path(&membership, "cpu") else { return Vec::new() };
            levels(path).filter_map(|level| controller_group(file, level)).collect()
        }
    }
}

/// The path of the process's group in the one hierarchy of version 2: `0::/some/path`.
fn unified_path(membership: &str) -> Option<&str> {
    membership.lines().find_map(|line| line.strip_prefix("0::"))
}

/// The path of the process's group in the hierarchy of one controller of version 1: `4:cpu,cpuacct:/some/path`.
fn controller_path<'a>(membership: &'a str, controller: &str) -> Option<&'a str> {
    membership.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|known| known == controller).then_some(path)
    })
}

/// A path and those above it, outermost first, without a slash at the end. The outermost is the root, which is where
/// a container sees its own group.
fn levels(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    let inner = path.match_indices('/').skip(1).map(move |(end, _)| &path[..end]);
    std::iter::once("").chain(inner).chain(std::iter::once(path).filter(|path| !path.is_empty()))
}

/// A group of version 2, if it has a limit.
fn unified_group(file: ReadFile<'_>, folder: &str) -> Option<GroupWork> {
    let processors = unified_limit(&file(&format!("{folder}/cpu.max"))?)?;
    let stat = file(&format!("{folder}/cpu.stat"))?;
    Some(GroupWork { used: unified_usage(&stat)?, processors })
}

/// Quota and period in microseconds, as `200000 100000`, or no limit, as `max 100000`.
fn unified_limit(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    share(quota.parse().ok()?, period.parse().ok()?)
}

/// The line `usage_usec 123`.
fn unified_usage(stat: &str) -> Option<Duration> {
    let micros = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(Duration::from_micros(micros.trim().parse().ok()?))
}

/// A group of version 1, if it has a limit. Its two controllers are often mounted as one.
fn controller_group(file: ReadFile<'_>, level: &str) -> Option<GroupWork> {
    let read = |controllers: [&str; 2], name: &str| {
        controllers.into_iter().find_map(|controller| file(&format!("{GROUPS}/{controller}{level}/{name}")))
    };
    let number = |name: &str| read(["cpu", "cpu,cpuacct"], name)?.trim().parse::<i64>().ok();
    let processors = share(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)?;
    let nanos = read(["cpuacct", "cpu,cpuacct"], "cpuacct.usage")?.trim().parse().ok()?;
    Some(GroupWork { used: Duration::from_nanos(nanos), processors })
}

/// How many processors a quota is; `None` if it is no limit.
fn share(quota: i64, period: i64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

impl Ticks {
    fn parse(stat: &str) -> Option<Self> {
        let ticks: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map_while(|tick| tick.parse().ok())
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user time already.
        let ticks = ticks.get(..8)?;
        Some(Self { idle: ticks[3] + ticks[4], total: ticks.iter().sum() })
    }

    fn load_since(self, before: Self) -> Option<f64> {
        let total = self.total.checked_sub(before.total).filter(|total| *total > 0)?;
        let idle = self.idle.saturating_sub(before.idle).min(total);
        Some(1.0 - idle as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests;
