//! A simulated machine that is hard to measure on.

#[path = "../common/noise.rs"]
mod simulation;

pub use simulation::Noise;

/// Log times: one row for each variant, one column for each block.
pub type Table = Vec<Vec<f64>>;

/// How noisy a machine is; standard deviations are of natural logarithms of time.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Noise of each trial by itself.
    own: f64,
    /// Noise shared with neighbours: a first-order autoregression with this deviation...
    shared: f64,
    /// ...and this correlation from one trial to the next.
    correlation: f64,
    /// Step of the random walk from one trial to the next.
    drift: f64,
    /// Chance that a slow burst begins with a trial.
    burst_chance: f64,
    /// Slow-down within a burst.
    burst: f64,
}

impl Profile {
    /// A small virtual machine with busy neighbours.
    pub const NOISY: Profile = Profile {
        own: 0.04,
        shared: 0.03,
        correlation: 0.7,
        drift: 0.006,
        burst_chance: 0.01,
        burst: 0.25,
    };

    /// The same without bursts, so that differences of blocks are close to normal and the power of
    /// a method can be held against its formula.
    pub const QUIET: Profile = Profile { burst_chance: 0.0, ..Profile::NOISY };

    /// The profile with all noise multiplied by `factor`.
    pub fn scaled(self, factor: f64) -> Profile {
        Profile {
            own: self.own * factor,
            shared: self.shared * factor,
            drift: self.drift * factor,
            burst: self.burst * factor,
            ..self
        }
    }
}

/// A simulated machine that is hard to measure on: noise of each trial, noise shared by neighbouring
/// trials, slow drift and occasional slow bursts.
pub struct Machine {
    profile: Profile,
    noise: Noise,
    shared: f64,
    drift: f64,
    burst_left: u64,
}

impl Machine {
    /// A machine whose whole future depends on the seed.
    pub fn new(profile: Profile, seed: u64) -> Machine {
        let mut noise = Noise::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let shared = profile.shared * noise.normal();
        Machine { profile, noise, shared, drift: 0.0, burst_left: 0 }
    }

    /// The log time of the next trial, of a variant with this log effect.
    pub fn trial(&mut self, effect: f64) -> f64 {
        let Profile { own, shared, correlation, drift, burst_chance, burst } = self.profile;
        let fresh = (1.0 - correlation * correlation).sqrt() * shared;
        self.shared = correlation * self.shared + fresh * self.noise.normal();
        self.drift += drift * self.noise.normal();
        if self.burst_left > 0 {
            self.burst_left -= 1;
        } else if self.noise.uniform() < burst_chance {
            self.burst_left = 3 + self.noise.bits() % 6;
        }
        let slow = if self.burst_left > 0 { burst } else { 0.0 };
        effect + self.drift + self.shared + slow + own * self.noise.normal()
    }

    /// A run of blocks, the variants of each in random order.
    pub fn run(&mut self, effects: &[f64], blocks: usize) -> Table {
        let mut table = vec![Vec::with_capacity(blocks); effects.len()];
        let mut order: Vec<usize> = (0..effects.len()).collect();
        for _ in 0..blocks {
            self.shuffle(&mut order);
            for &variant in &order {
                let time = self.trial(effects[variant]);
                table[variant].push(time);
            }
        }
        table
    }

    /// Fisher and Yates's shuffle; the bias of the remainder is below 2^-58 here.
    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            order.swap(last, (self.noise.bits() % (last as u64 + 1)) as usize);
        }
    }
}

/// The log ratios of one variant to another, block by block.
pub fn diffs(table: &Table, variant: usize, baseline: usize) -> Vec<f64> {
    table[variant].iter().zip(&table[baseline]).map(|(time, base)| time - base).collect()
}
