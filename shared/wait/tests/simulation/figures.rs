//! What histories were made of.

/// The sums.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) steps: u64,
    pub(crate) runs: u64,
    pub(crate) waits: u64,
    pub(crate) looks: u64,
    pub(crate) faults: u64,
    pub(crate) deaths: u64,
    pub(crate) duplicates: u64,
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.runs += other.runs;
        self.waits += other.waits;
        self.looks += other.looks;
        self.faults += other.faults;
        self.deaths += other.deaths;
        self.duplicates += other.duplicates;
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} steps of {} runs, {} waits, {} looks; {} calls went wrong, {} runs died, {} messages were repeated",
            self.steps, self.runs, self.waits, self.looks, self.faults, self.deaths, self.duplicates
        )
    }
}
