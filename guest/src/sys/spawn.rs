//! Starting a program with few system calls. The standard library starts one with `posix_spawn`, which resets
//! every signal by two calls of its own, 122 in all, and under User-Mode Linux each call is a turn between the
//! guest's kernel and its process.
//!
//! A call that fails moves the virtual clock by a microsecond, and with it the random numbers of the kernel,
//! which depend on the times of interrupts. So the pipes are no `File`s: those ask for their position before
//! they read to the end, which a pipe refuses.

use super::checked;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{self, Read, Write, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null;

/// The child uses a few hundred bytes of it until its own program starts.
const STACK_WORDS: usize = 1 << 12;
/// What shells exit with when a program cannot be started.
const NOT_STARTED: c_int = 127;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// What the child needs, in memory that it shares with us until its program starts.
struct Wanted<'a> {
    program: &'a CStr,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    input: RawFd,
    output: RawFd,
    kept: &'a [RawFd],
    /// The reason if the program could not be started.
    error: c_int,
}

/// How a program is started.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// Its path.
    pub program: &'a str,
    /// What follows its name.
    pub arguments: &'a [&'a str],
    /// Variables besides ours, `NAME=value`.
    pub more_environment: &'a [String],
    /// What it reads.
    pub input: RawFd,
    /// Where its output and its errors go.
    pub output: RawFd,
    /// Descriptors that stay open under their numbers.
    pub kept: &'a [RawFd],
}

impl Start<'_> {
    /// Starts it. Returns its number.
    pub fn start(&self) -> io::Result<libc::pid_t> {
        let program = super::c_string(self.program)?;
        let words: Vec<CString> = self
            .arguments
            .iter()
            .map(|word| super::c_string(word))
            .collect::<Result<_, _>>()?;
        let mut arguments = vec![program.as_ptr()];
        arguments.extend(words.iter().map(|word| word.as_ptr()));
        arguments.push(null());
        let more: Vec<CString> = self
            .more_environment
            .iter()
            .map(|entry| super::c_string(entry))
            .collect::<Result<_, _>>()?;
        let mut environment: Vec<_> = more.iter().map(|entry| entry.as_ptr()).collect();
        // SAFETY: the list ends with null, and nothing in this process changes it.
        unsafe {
            let mut entry = environ;
            while !entry.is_null() && !(*entry).is_null() {
                environment.push(*entry);
                entry = entry.add(1);
            }
        }
        environment.push(null());
        let mut wanted = Wanted {
            program: &program,
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            input: self.input,
            output: self.output,
            kept: self.kept,
            error: 0,
        };
        let child = start(&mut wanted)?;
        if wanted.error != 0 {
            wait(child)?;
            return Err(io::Error::from_raw_os_error(wanted.error));
        }
        Ok(child)
    }
}

/// Runs a program to its end.
///
/// # Arguments
///
/// * `program` - its path.
/// * `arguments` - what follows its name.
/// * `input` - what it reads.
///
/// # Returns
///
/// Whether it ended with status 0, and all that it wrote to its output and its errors.
///
/// # Errors
///
/// It could not be started, or a pipe failed.
pub fn run_to_end(program: &str, arguments: &[&str], input: &[u8]) -> io::Result<(bool, Vec<u8>)> {
    let ((its_input, mut our_input), (mut our_output, its_output)) = (pipe()?, pipe()?);
    let start = Start {
        program,
        arguments,
        more_environment: &[],
        input: its_input.as_raw_fd(),
        output: its_output.as_raw_fd(),
        kept: &[],
    };
    let child = start.start()?;
    drop((its_input, its_output));
    // A program that ends early reports the reason on its output.
    let _ = our_input.write_all(input);
    drop(our_input);
    let mut said = Vec::new();
    let read = our_output.read_to_end(&mut said);
    let status = wait(child)?;
    read?;
    Ok((
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        said,
    ))
}

/// The id of a process that runs the program, or tried to.
fn start(wanted: &mut Wanted<'_>) -> io::Result<libc::pid_t> {
    let mut stack = vec![0u128; STACK_WORDS];
    let top = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: `CLONE_VFORK` suspends us until the child's program has started or the child has ended, so that
    // the stack, which is aligned and grows down from its end, and `wanted` outlive its use of our memory.
    checked(unsafe { libc::clone(child, top.cast(), flags, (&raw mut *wanted).cast()) })
}

/// Runs in the child, in our memory: makes system calls only, and allocates nothing.
extern "C" fn child(wanted: *mut c_void) -> c_int {
    // SAFETY: `start` passes it, and waits. The strings end with 0, the lists with null.
    unsafe {
        let wanted = &mut *wanted.cast::<Wanted<'_>>();
        // The runtime of this program ignores SIGPIPE, which its children would inherit; handlers they do not.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if libc::dup2(wanted.input, libc::STDIN_FILENO) >= 0
            && libc::dup2(wanted.output, libc::STDOUT_FILENO) >= 0
            && libc::dup2(wanted.output, libc::STDERR_FILENO) >= 0
        {
            for descriptor in wanted.kept {
                libc::fcntl(*descriptor, libc::F_SETFD, 0);
            }
            libc::execve(
                wanted.program.as_ptr(),
                wanted.arguments,
                wanted.environment,
            );
        }
        wanted.error = *libc::__errno_location();
        libc::_exit(NOT_STARTED)
    }
}

/// Waits for the end of a child. Returns its status.
pub(super) fn wait(child: libc::pid_t) -> io::Result<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: the call writes one number.
        match checked(unsafe { libc::waitpid(child, &raw mut status, 0) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(|_| status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::run_to_end;

    #[test]
    fn a_program_reads_its_input_and_what_it_writes_is_returned() {
        let (is_ok, said) =
            run_to_end("/bin/sh", &["-c", "cat; echo b >&2; exit 0"], b"a\n").unwrap();
        assert!(is_ok);
        assert_eq!(said, b"a\nb\n");
        assert!(!run_to_end("/bin/sh", &["-c", "exit 3"], b"").unwrap().0);
        assert!(!run_to_end("/bin/sh", &["-c", "kill -9 $$"], b"").unwrap().0);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = run_to_end("/bin/no-such-program", &[], b"").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_inherits_no_ignored_signal() {
        let script = "grep SigIgn /proc/self/status";
        let (_, said) = run_to_end("/bin/sh", &["-c", script], b"").unwrap();
        let said = String::from_utf8(said).unwrap();
        let ignored = u64::from_str_radix(said.trim().rsplit('\t').next().unwrap(), 16).unwrap();
        assert_eq!(ignored >> (libc::SIGPIPE - 1) & 1, 0);
    }
}
