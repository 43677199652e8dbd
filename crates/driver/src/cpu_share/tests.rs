//! What the kernel's files say, as they are found in containers and on machines.

use super::*;

const STAT: &str = "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1";

fn read_at(seconds: u64, files: &[(&str, &str)]) -> Option<ProcessorTime> {
    let file =
        |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    ProcessorTime::read(&file, Duration::from_secs(seconds))
}

fn groups(files: &[(&str, &str)]) -> Vec<(u64, f64)> {
    match read_at(0, files).map(|time| time.work) {
        Some(Work::Groups(groups)) => {
            groups.iter().map(|group| (group.used.as_micros() as u64, group.processors)).collect()
        }
        Some(Work::Machine(_)) | None => Vec::new(),
    }
}

#[test]
fn load_is_the_share_of_ticks_that_were_not_idle() {
    let at = |line: &str| Ticks::parse(line).unwrap();
    let before = at(STAT);
    for (line, expected) in [
        ("cpu  190 0 100 810 0 0 0 0", Some(0.9)),
        ("cpu  100 0 100 850 50 0 0 0", Some(0.0)),
        ("cpu  100 0 100 800 0 0 0 0", None),
        ("cpu  1 0 0 0 0 0 0 0", None),
    ] {
        assert_eq!(at(line).load_since(before), expected, "{line}");
    }
    assert!(Ticks::parse("intr 1 2 3").is_none());
    assert!(Ticks::parse("cpu  1 2").is_none());
}

#[test]
fn limits_are_read_from_both_versions() {
    for (text, expected) in [
        ("200000 100000\n", Some(2.0)),
        ("50000 100000", Some(0.5)),
        ("max 100000", None),
        ("0 100000", None),
        ("100000 0", None),
        ("100000", None),
        ("", None),
    ] {
        assert_eq!(unified_limit(text), expected, "{text:?}");
    }
    for (quota, period, expected) in [(-1, 100_000, None), (150_000, 100_000, Some(1.5)), (1, 0, None)] {
        assert_eq!(share(quota, period), expected, "{quota} of {period}");
    }
    let stat = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500";
    assert_eq!(unified_usage(stat), Some(Duration::from_micros(1500)));
    assert_eq!(unified_usage("user_usec 1000"), None);
}

#[test]
fn a_path_has_the_levels_above_it() {
    for (path, expected) in [
        ("/", &[""][..]),
        ("", &[""]),
        ("/a", &["", "/a"]),
        ("/a/b.slice/c", &["", "/a", "/a/b.slice", "/a/b.slice/c"]),
    ] {
        assert_eq!(levels(path).collect::<Vec<_>>(), expected, "{path:?}");
    }
}

#[test]
fn the_groups_with_a_limit_are_found() {
    let unified = ("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
    let in_container = [
        ("/proc/self/cgroup", "0::/\n"),
        unified,
        ("/sys/fs/cgroup/cpu.max", "100000 100000\n"),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 7\n"),
    ];
    let nested = [
        ("/proc/self/cgroup", "0::/pods/one\n"),
        unified,
        ("/sys/fs/cgroup/pods/cpu.max", "400000 100000"),
        ("/sys/fs/cgroup/pods/cpu.stat", "usage_usec 9"),
        ("/sys/fs/cgroup/pods/one/cpu.max", "max 100000"),
        ("/sys/fs/cgroup/pods/one/cpu.stat", "usage_usec 3"),
    ];
    let first_version = [
        ("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n"),
        ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
        ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("/sys/fs/cgroup/cpuacct/cpuacct.usage", "5000\n"),
    ];
    let mounted_as_one = [
        ("/proc/self/cgroup", "0::/\n4:cpu,cpuacct:/x\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "300000"),
        ("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000"),
        ("/sys/fs/cgroup/cpu,cpuacct/x/cpuacct.usage", "6000"),
    ];
    let no_limit = [
        ("/proc/self/cgroup", "0::/user.slice\n"),
        unified,
        ("/sys/fs/cgroup/user.slice/cpu.max", "max 100000"),
        ("/sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 9"),
        ("/proc/stat", STAT),
    ];
    for (case, files, expected) in [
        ("in a container", &in_container[..], &[(7, 1.0)][..]),
        ("above the own group", &nested, &[(9, 4.0)]),
        ("version 1", &first_version, &[(5, 0.5)]),
        ("version 1, mounted as one", &mounted_as_one, &[(6, 3.0)]),
        ("no limit", &no_limit, &[]),
        ("not Linux", &[], &[]),
    ] {
        assert_eq!(groups(files), expected, "{case}");
    }
    assert!(matches!(read_at(0, &no_limit).unwrap().work, Work::Machine(_)), "the machine's share counts");
    assert_eq!(read_at(0, &[]), None);
}

#[test]
fn load_is_what_was_used_of_what_is_allowed() {
    let at = |seconds, used: &[(u64, f64)]| {
        let group = |&(millis, processors)| GroupWork { used: Duration::from_millis(millis), processors };
        ProcessorTime {
            at: Duration::from_secs(seconds),
            work: Work::Groups(used.iter().map(group).collect()),
        }
    };
    for (before, now, expected) in [
        (at(10, &[(0, 2.0)]), at(20, &[(10_000, 2.0)]), Some(0.5)),
        (at(10, &[(500, 0.5)]), at(12, &[(1500, 0.5)]), Some(1.0)),
        // A burst may use more than its share for a while.
        (at(10, &[(0, 1.0)]), at(11, &[(1500, 1.0)]), Some(1.0)),
        (at(10, &[(0, 4.0), (0, 1.0)]), at(20, &[(8000, 4.0), (6000, 1.0)]), Some(0.6)),
        (at(10, &[(0, 1.0)]), at(10, &[(5, 1.0)]), None),
        (at(10, &[(0, 1.0)]), at(20, &[(0, 1.0), (0, 1.0)]), None),
        (at(10, &[(9, 1.0)]), at(20, &[(0, 1.0)]), Some(0.0)),
    ] {
        assert_eq!(now.load_since(&before), expected, "{before:?} to {now:?}");
    }
    let machine = read_at(0, &[("/proc/stat", STAT)]).unwrap();
    assert_eq!(at(1, &[(0, 1.0)]).load_since(&machine), None, "a limit that was set meanwhile");
}
