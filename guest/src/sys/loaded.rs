//! A program that is loaded once and started often.
//!
//! Of the start of a program with ten shared libraries, two thirds are the work of the dynamic loader. So the
//! program is started once with one more library (`LD_PRELOAD`, ld.so(8)), whose initialisation the loader
//! calls when everything is loaded and before the program's own start. It waits there. At each request it
//! forks, and the child enters the network namespace of this process and goes on to the program's `main`, as a
//! process of its own that has just been started.
//!
//! The library is C (`python/dumbbell/backends/kernel/tool_library.c`), compiled outside the guest. Names of
//! variables and the format of a request are written in both.

use super::owned;
use super::spawn::{Start, wait};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A program that has been loaded and waits.
#[derive(Debug)]
pub struct LoadedProgram {
    requests: PipeWriter,
    answers: PipeReader,
    /// What the next process reads; it shares our position.
    input: File,
    /// What all of them write.
    output: File,
    /// A request: the advice that the child gives on its memory.
    request: Vec<u8>,
}

impl LoadedProgram {
    /// Loads a program.
    ///
    /// # Arguments
    ///
    /// * `program` - its path.
    /// * `arguments` - what follows its name at each start.
    /// * `library` - path of the library.
    ///
    /// # Returns
    ///
    /// None if the program's loader does not call the library.
    ///
    /// # Errors
    ///
    /// The library cannot be read, the program could not be started, or a system call failed.
    pub fn new(
        program: &str,
        arguments: &[&str],
        library: &Path,
    ) -> io::Result<Option<LoadedProgram>> {
        let ((its_requests, requests), (answers, its_answers)) = (pipe()?, pipe()?);
        let (input, output, library) = (memory_file()?, memory_file()?, File::open(library)?);
        let kept = [
            its_requests.as_raw_fd(),
            its_answers.as_raw_fd(),
            library.as_raw_fd(),
        ];
        let [requests_fd, answers_fd, library_fd] = kept;
        let more_environment = [
            // By its descriptor: the loader would split a path at blanks and colons.
            format!("LD_PRELOAD=/proc/self/fd/{library_fd}"),
            format!("DUMBBELL_TOOL_REQUESTS={requests_fd}"),
            format!("DUMBBELL_TOOL_ANSWERS={answers_fd}"),
            format!("DUMBBELL_TOOL_NETWORK=/proc/{}/ns/net", std::process::id()),
        ];
        let start = Start {
            program,
            arguments,
            more_environment: &more_environment,
            input: input.as_raw_fd(),
            output: output.as_raw_fd(),
            kept: &kept,
        };
        let waiting = start.start()?;
        drop((its_requests, its_answers));
        let mut answers = answers;
        if answers.read_exact(&mut [0; 4]).is_err() {
            wait(waiting)?;
            return Ok(None);
        }
        let maps = std::fs::read_to_string(format!("/proc/{waiting}/maps"))?;
        Ok(Some(LoadedProgram {
            requests,
            answers,
            input,
            output,
            request: request(&maps),
        }))
    }

    /// Runs it to its end in the network namespace of this process.
    ///
    /// # Returns
    ///
    /// Whether it ended with status 0, and all that it wrote to its output and its errors.
    ///
    /// # Errors
    ///
    /// A system call failed.
    pub fn run(&mut self, input: &[u8]) -> io::Result<(bool, Vec<u8>)> {
        self.input.set_len(0)?;
        self.input.write_all_at(input, 0)?;
        self.input.rewind()?;
        let mut child = [0; 4];
        self.requests.write_all(&self.request)?;
        self.answers.read_exact(&mut child)?;
        let child = libc::pid_t::from_ne_bytes(child);
        if child < 0 {
            return Err(io::Error::from_raw_os_error(-child));
        }
        let status = wait(child)?;
        let is_done = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        let mut start = [0; 1 << 10];
        let length = self.output.read_at(&mut start, 0)?;
        let mut said = start[..length].to_vec();
        if length > 0 {
            self.output.seek(SeekFrom::Start(length as u64))?;
            self.output.read_to_end(&mut said)?;
            self.output.set_len(0)?;
            self.output.rewind()?;
        }
        Ok((is_done, said))
    }
}

/// Bytes of a request at most, for which the library has room.
const REQUEST_BYTES: usize = 480;
/// Of an entry of a request: address, length, advice.
const ENTRY_BYTES: usize = 24;

/// What a child asks of its memory, by the mappings of the program (proc(5)): that of its files is mapped at
/// once, and what can be written of it is copied. A missing page would be a turn between the guest's kernel
/// and the process.
fn request(maps: &str) -> Vec<u8> {
    let mut read: Vec<(u64, u64)> = Vec::new();
    let mut write = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (range, flags) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let name = words.nth(3).unwrap_or("");
        let numbers = range.split_once('-').and_then(|(start, end)| {
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(start)?, number(end)?))
        });
        // `[heap]`, `[stack]` and the like are as small as they are short-lived.
        let Some((start, end)) =
            numbers.filter(|_| flags.starts_with('r') && !name.starts_with('['))
        else {
            continue;
        };
        match read.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => read.push((start, end)),
        }
        if flags.starts_with("rw") && !name.is_empty() {
            write.push((start, end));
        }
    }
    let read = read
        .into_iter()
        .map(|range| (range, libc::MADV_POPULATE_READ));
    let write = write
        .into_iter()
        .map(|range| (range, libc::MADV_POPULATE_WRITE));
    let entries = read.chain(write).take(REQUEST_BYTES / ENTRY_BYTES - 1);
    let mut bytes: Vec<u8> = entries
        .flat_map(|((start, end), advice)| [start, end - start, advice as u64])
        .flat_map(u64::to_ne_bytes)
        .collect();
    bytes.extend([0; ENTRY_BYTES]);
    bytes
}

/// A file in memory, whose writers append.
fn memory_file() -> io::Result<File> {
    let name = CString::default();
    // SAFETY: the name lives until the call returns.
    let file = File::from(owned(unsafe {
        libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC)
    })?);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{LoadedProgram, request};
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// The library, compiled into a folder of its own.
    struct Library(PathBuf);

    impl Library {
        fn new(test: &str) -> Library {
            let name = format!("tool-library-{test}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let source = "../python/dumbbell/backends/kernel/tool_library.c";
            let built = Command::new("cc")
                .args([
                    "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o",
                ])
                .arg(folder.join("library: 1.so"))
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source))
                .status();
            assert!(built.unwrap().success());
            Library(folder)
        }

        fn load(
            &self,
            program: &str,
            arguments: &[&str],
        ) -> std::io::Result<Option<LoadedProgram>> {
            LoadedProgram::new(program, arguments, &self.0.join("library: 1.so"))
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Entering a network is for root.
    #[test]
    fn each_run_is_a_process_that_has_just_been_started() {
        let library = Library::new("runs");
        let mut program = library.load("/bin/sh", &["-s"]).unwrap().unwrap();
        let mut run = |script: &str| program.run(script.as_bytes()).unwrap();
        let network = std::fs::File::open("/proc/self/ns/net").unwrap();
        if crate::sys::enter_network(&network).is_err() {
            assert_eq!(run("exit 0"), (false, Vec::new()));
            return;
        }
        let (is_ok, first) = run("a=1; echo $$ $a $PPID; echo error >&2");
        assert!(is_ok);
        let (is_ok, second) = run("echo $$ $a $PPID");
        assert!(is_ok);
        let words = |said: Vec<u8>| -> Vec<String> {
            let said = String::from_utf8(said).unwrap();
            said.split_whitespace().map(str::to_owned).collect()
        };
        let (first, second) = (words(first), words(second));
        let own = std::process::id().to_string();
        assert_eq!(first[1..], ["1", &own, "error"]);
        assert_eq!(second[1..], [own]);
        assert_ne!(first[0], second[0]);
        assert!(!run("exit 3").0);
        let long = "x".repeat(5000);
        assert_eq!(run(&format!("printf {long}")).1, long.as_bytes());
        let open = "for fd in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done";
        assert_eq!(run(open), (true, Vec::new()));
        // A program that it starts is not asked to wait.
        let (is_ok, said) = run("env | grep DUMBBELL_TOOL; echo done");
        assert_eq!((is_ok, &*said), (true, &b"done\n"[..]));
    }

    #[test]
    fn a_program_whose_loader_calls_nothing_is_not_loaded() {
        let library = Library::new("none");
        std::fs::write(library.0.join("library: 1.so"), "no library").unwrap();
        assert!(library.load("/bin/sh", &["-c", "cat"]).unwrap().is_none());
    }

    #[test]
    fn files_are_mapped_and_what_is_written_of_them_is_copied() {
        let maps = "1000-2000 r--p 00000000 00:01 7 /lib/a\n\
                    2000-4000 r-xp 00001000 00:01 7 /lib/a\n\
                    4000-5000 rw-p 00003000 00:01 7 /lib/a\n\
                    5000-6000 rw-p 00000000 00:00 0\n\
                    8000-9000 ---p 00000000 00:01 7 /lib/a\n\
                    a000-b000 rw-p 00000000 00:00 0 [heap]\n";
        let numbers: Vec<u64> = request(maps)
            .chunks(8)
            .map(|number| u64::from_ne_bytes(number.try_into().unwrap()))
            .collect();
        let expected = [0x1000, 0x5000, 22, 0x4000, 0x1000, 23, 0, 0, 0];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let library = Library::new("missing");
        let error = library.load("/bin/no-such-program", &[]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        let error = LoadedProgram::new("/bin/sh", &[], &library.0.join("no")).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}
