//! The memory limit of runs. The caller gives the limit; a run counts its own memory (`World::memory_bytes`), so
//! nothing here asks the operating system.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A memory budget shared by the runs of a batch.
///
/// A run may use memory that others do not. If all together exceed the limit, the runs above their equal
/// share end and the others continue.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: AtomicU64,
    runs: u64,
    in_use_bytes: AtomicU64,
}

impl Budget {
    /// A limit in bytes for `runs` runs at a time.
    pub fn new(limit_bytes: u64, runs: u64) -> Budget {
        Budget {
            limit_bytes: AtomicU64::new(limit_bytes),
            runs: runs.max(1),
            in_use_bytes: AtomicU64::new(0),
        }
    }

    /// Changes the limit, also for runs in progress.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Memory in use according to all accounts.
    pub fn in_use_bytes(&self) -> u64 {
        self.in_use_bytes.load(Ordering::Relaxed)
    }
}

/// A run exceeds its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget {
    /// Memory needed.
    pub needed_bytes: u64,
    /// Memory allowed.
    pub budget_bytes: u64,
}

/// The share of one run in a budget; returned when dropped.
#[derive(Debug, Default)]
pub struct Account {
    /// None for no limit.
    budget: Option<Arc<Budget>>,
    used_bytes: AtomicU64,
}

impl Account {
    /// An account of a run that uses nothing yet.
    pub fn of(budget: Arc<Budget>) -> Account {
        Account {
            budget: Some(budget),
            used_bytes: AtomicU64::new(0),
        }
    }

    /// Memory that the run reported last.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Reports the memory in use.
    ///
    /// # Errors
    /// It exceeds what the run may use.
    pub fn set(&self, used_bytes: u64) -> Result<(), OverBudget> {
        let before = self.used_bytes.swap(used_bytes, Ordering::Relaxed);
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        // Both subtractions wrap, so a decrease is subtracted.
        let change = used_bytes.wrapping_sub(before);
        let all = &budget.in_use_bytes;
        let in_use = all
            .fetch_add(change, Ordering::Relaxed)
            .wrapping_add(change);
        let limit = budget.limit_bytes.load(Ordering::Relaxed);
        let share = limit / budget.runs;
        if in_use <= limit || used_bytes <= share {
            return Ok(());
        }
        Err(OverBudget {
            needed_bytes: used_bytes,
            budget_bytes: share.max(limit.saturating_sub(in_use - used_bytes)),
        })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            let used = self.used_bytes();
            budget.in_use_bytes.fetch_sub(used, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_budget_there_is_no_limit() {
        assert_eq!(Account::default().set(u64::MAX), Ok(()));
    }

    #[test]
    fn one_run_may_have_what_others_leave_but_not_more() {
        let budget = Arc::new(Budget::new(100, 2));
        let (large, small) = (Account::of(budget.clone()), Account::of(budget.clone()));
        assert_eq!(small.set(10), Ok(()));
        assert_eq!(large.set(90), Ok(()));
        let over = large.set(91).unwrap_err();
        assert_eq!((over.needed_bytes, over.budget_bytes), (91, 90));
        // Together they exceed the limit; a run within its share continues.
        assert_eq!(small.set(50), Ok(()));
        assert!(large.set(60).is_err());
        drop(large);
        assert_eq!(budget.in_use_bytes(), 50);
        assert_eq!(small.set(100), Ok(()));
        budget.set_limit(80);
        assert!(small.set(100).is_err());
    }
}
