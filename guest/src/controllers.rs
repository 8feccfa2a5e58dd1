//! Congestion controllers that are kernel modules.

use crate::error::{ErrorContext, GuestError};
use crate::job::Controller;
use crate::sys;
use dumbbell_spec::Experiment;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Messages of the kernel below this level are printed (proc_sys_kernel(5)).
const PRINTED_LEVEL: &str = "/proc/sys/kernel/printk";

/// Loads them before the first socket is created, and sets the kernel's names in the flows.
pub fn load(controllers: &[Controller], experiment: &mut Experiment) -> Result<(), GuestError> {
    if !controllers.is_empty() {
        print_faults()?;
    }
    for controller in controllers {
        let what = || format!("loading {}", controller.module.display());
        let module = File::open(&controller.module).context(what)?;
        sys::load_module(&module, c"").context(what)?;
        for index in &controller.flows {
            let flow = experiment.flows.get_mut(*index);
            let tcp = flow.and_then(|flow| flow.tcp.as_mut());
            let missing = || GuestError::Job(format!("flow {index} has no controller"));
            tcp.ok_or_else(missing)?.congestion_control = controller.name.clone();
        }
    }
    Ok(())
}

/// Raises the print level so that the crash report of a module is printed.
pub fn print_faults() -> Result<(), GuestError> {
    fs::write(PRINTED_LEVEL, "8").context(|| format!("writing {PRINTED_LEVEL}"))
}

/// Sets the run's time zero in each module, on the monotonic clock.
pub fn set_zero(controllers: &[Controller], zero_ns: u64) -> Result<(), GuestError> {
    for controller in controllers {
        let place = format!("/sys/module/{}/parameters/zero_ns", controller.name);
        fs::write(&place, zero_ns.to_string()).context(|| format!("writing {place}"))?;
    }
    Ok(())
}

/// Copies the event records of modules built to record.
pub fn keep_records(controllers: &[Controller], output: &Path) -> Result<(), GuestError> {
    for controller in controllers {
        let records: PathBuf = ["/proc", &controller.name].iter().collect();
        if records.exists() {
            let kept = output.join(format!("{}.records", controller.name));
            let what = || format!("copying {}", records.display());
            // Not `fs::copy`: a guest may not set the mode of a file.
            let mut kept = File::create(kept).context(what)?;
            io::copy(&mut File::open(&records).context(what)?, &mut kept).context(what)?;
        }
    }
    Ok(())
}
