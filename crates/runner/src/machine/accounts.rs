//! Parsers of the kernel's plain-text accounts: pure functions over text.
//!
//! Apart from the reading so that odd content can be tested. Each gives `None` for text that does not
//! hold the figure. proc(5) and the kernel documentation (`accounting/psi`) describe the formats.

/// CPU time since boot over all CPUs, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTime {
    /// Time that the hypervisor gave to others.
    pub(super) steal: u64,
    /// All time, idle time and steal included.
    pub(super) total: u64,
}

impl CpuTime {
    /// Reads the first line of `/proc/stat`.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Option<Vec<u64>> =
            line.split_ascii_whitespace().map(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is already in user time.
        let ticks = ticks?;
        let accounted = ticks.get(..8)?;
        Some(Self {
            steal: accounted[7],
            total: accounted.iter().fold(0, |sum: u64, tick| sum.saturating_add(*tick)),
        })
    }

    /// Returns the share of steal in the time passed since `earlier`, 0 to 1; `None` when no tick passed.
    pub(super) fn steal_fraction_since(self, earlier: Self) -> Option<f64> {
        let total = self.total.saturating_sub(earlier.total);
        let steal = self.steal.saturating_sub(earlier.steal);
        (total > 0).then(|| steal as f64 / total as f64)
    }

    /// Boot, when all accounts stood at zero.
    pub(super) const BOOT: Self = Self { steal: 0, total: 0 };
}

/// `some avg10` of a `/proc/pressure` file, in per cent.
pub(super) fn parse_some_avg10(pressure: &str) -> Option<f64> {
    pressure
        .lines()
        .find_map(|line| line.strip_prefix("some "))?
        .split_ascii_whitespace()
        .find_map(|field| field.strip_prefix("avg10="))
        .and_then(finite)
}

/// Returns the three averages of `/proc/loadavg`.
pub(super) fn parse_load_average(loadavg: &str) -> Option<[f64; 3]> {
    let mut fields = loadavg.split_ascii_whitespace().map(finite);
    Some([fields.next()??, fields.next()??, fields.next()??])
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns a field of `/proc/meminfo`, in bytes.
pub(super) fn parse_meminfo(meminfo: &str, field: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Returns the model of the first processor in `/proc/cpuinfo`; the name of the field depends on the architecture.
pub(super) fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu model", "cpu", "uarch", "Model", "Hardware"]
        .into_iter()
        .find_map(|field| cpuinfo_field(cpuinfo, field))
        .map(str::to_owned)
}

/// Returns whether CPUID names a hypervisor; `None` on architectures without CPU flags of that kind.
pub(super) fn parse_hypervisor_flag(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo_field(cpuinfo, "flags")?;
    Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

fn cpuinfo_field<'a>(cpuinfo: &'a str, field: &str) -> Option<&'a str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim_end() == field)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

/// Returns the number of CPUs in a list such as `0-3,8`.
pub(super) fn parse_cpu_list(list: &str) -> Option<u32> {
    list.trim()
        .split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        })
        .try_fold(0_u32, |sum, count| sum.checked_add(count?))
}

/// `PRETTY_NAME` of an os-release(5) file, without its quotes.
pub(super) fn parse_pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_counts_guest_time_once() {
        let stat = "cpu  100 10 50 800 20 5 5 10 40 4\ncpu0 50 5 25 400 10 2 2 5 20 2\nintr 1\n";
        let time = CpuTime::parse(stat).unwrap();
        assert_eq!((time.steal, time.total), (10, 1000));
        assert_eq!(time.steal_fraction_since(CpuTime::BOOT), Some(0.01));
    }

    #[test]
    fn steal_of_an_interval_without_a_tick_is_unknown() {
        let time = CpuTime { steal: 3, total: 9 };
        assert_eq!(time.steal_fraction_since(time), None);
        let later = CpuTime { steal: 4, total: 19 };
        assert_eq!(later.steal_fraction_since(time), Some(0.1));
    }

    #[test]
    fn odd_cpu_time_is_unknown() {
        for stat in ["", "cpu ", "cpu  1 2 3 4", "cpu  1 2 3 4 5 6 7 x", "cpu0 1 2"] {
            assert_eq!(CpuTime::parse(stat), None, "{stat:?}");
        }
        let huge = format!("cpu  {0} {0} 0 0 0 0 0 1", u64::MAX);
        assert_eq!(CpuTime::parse(&huge).unwrap().total, u64::MAX);
    }

    #[test]
    fn pressure_is_the_ten_second_average_of_some() {
        let text = "some avg10=1.48 avg60=0.32 avg300=0.20 total=3678612\n\
                    full avg10=9.99 avg60=0.32 avg300=0.20 total=3531644\n";
        assert_eq!(parse_some_avg10(text), Some(1.48));
        for odd in ["", "full avg10=1.0", "some avg60=1.0", "some avg10=NaN"] {
            assert_eq!(parse_some_avg10(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn load_average_needs_all_three_figures() {
        assert_eq!(parse_load_average("0.13 0.07 0.03 1/123 4567\n"), Some([0.13, 0.07, 0.03]));
        assert_eq!(parse_load_average("0.13 0.07"), None);
        assert_eq!(parse_load_average("a b c"), None);
    }

    #[test]
    fn memory_is_given_in_bytes() {
        let meminfo = "MemTotal:       24684084 kB\nMemFree:  1 kB\nMemAvailable:   12 kB\n";
        assert_eq!(parse_meminfo(meminfo, "MemTotal"), Some(24_684_084 * 1024));
        assert_eq!(parse_meminfo(meminfo, "MemAvailable"), Some(12 * 1024));
        assert_eq!(parse_meminfo(meminfo, "Mem"), None);
        assert_eq!(parse_meminfo("MemTotal: x kB", "MemTotal"), None);
        assert_eq!(parse_meminfo("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
    }

    #[test]
    fn cpu_model_and_hypervisor_come_from_the_first_processor() {
        let x86 = "processor\t: 0\nmodel\t\t: 167\nmodel name\t: Xeon(R) E5\n\
                   flags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(parse_cpu_model(x86).as_deref(), Some("Xeon(R) E5"));
        assert_eq!(parse_hypervisor_flag(x86), Some(true));
        assert_eq!(parse_hypervisor_flag("flags\t: fpu hypervisors\n"), Some(false));

        let variant = "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\n\n\
                   Model\t\t: Raspberry Pi 5 Model B Rev 1.0\n";
        assert_eq!(parse_cpu_model(variant).as_deref(), Some("Raspberry Pi 5 Model B Rev 1.0"));
        assert_eq!(parse_hypervisor_flag(variant), None);
        assert_eq!(parse_cpu_model("model name\t:\n"), None);
    }

    #[test]
    fn cpu_lists_are_counted() {
        let cases = [
            ("0\n", Some(1)),
            ("0-3,8,10-11\n", Some(7)),
            ("", None),
            ("3-0", None),
            ("0-", None),
            ("0-4294967295", None),
        ];
        for (list, expected) in cases {
            assert_eq!(parse_cpu_list(list), expected, "{list:?}");
        }
    }

    #[test]
    fn the_pretty_name_loses_its_quotes() {
        assert_eq!(
            parse_pretty_name("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").as_deref(),
            Some("Debian GNU/Linux 12")
        );
        assert_eq!(parse_pretty_name("PRETTY_NAME='X'").as_deref(), Some("X"));
        assert_eq!(parse_pretty_name("PRETTY_NAME=Alpine").as_deref(), Some("Alpine"));
        assert_eq!(parse_pretty_name("PRETTY_NAME=\"\""), None);
        assert_eq!(parse_pretty_name("NAME=x"), None);
    }
}
