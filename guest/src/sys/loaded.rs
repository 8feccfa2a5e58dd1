//! A program that is loaded once and started often.
//!
//! Of the start of a program with ten shared libraries, two thirds are the work of the dynamic loader. So the
//! program is started once with one more library (`LD_PRELOAD`, ld.so(8)), whose initialisation the loader
//! calls when everything is loaded and before the program's own start. It waits there. At each request it
//! forks, and the child enters the network namespace of this process and goes on to the program's `main`, as a
//! process of its own that has just been started.
//!
//! The library is made here: some 230 bytes of code, and what the loader needs to know of it (elf(5)).

use super::owned;
use super::spawn::{Start, wait};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

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
    /// Loads a program, which will be started with these arguments each time. It must start no others, which
    /// would be told of the library too. None if its loader does not call our library.
    ///
    /// # Errors
    ///
    /// It could not be started, or a system call failed.
    pub fn new(program: &str, arguments: &[&str]) -> io::Result<Option<LoadedProgram>> {
        let ((its_requests, requests), (answers, its_answers)) = (pipe()?, pipe()?);
        let (input, output, library) = (memory_file()?, memory_file()?, memory_file()?);
        let image = library_image(its_requests.as_raw_fd(), its_answers.as_raw_fd());
        library.write_all_at(&image, 0)?;
        let kept = [
            its_requests.as_raw_fd(),
            its_answers.as_raw_fd(),
            library.as_raw_fd(),
        ];
        let preload = format!("LD_PRELOAD=/proc/self/fd/{}", library.as_raw_fd());
        let start = Start {
            program,
            arguments,
            more_environment: Some(super::c_string(&preload)?),
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

/// Bytes of a request at most, for which the code has room on its stack.
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

const PAGE: u64 = 4096;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PF_X: u32 = 1;
const PF_W: u32 = 2;
const PF_R: u32 = 4;
const HEADER_BYTES: u64 = 64;
const SEGMENT_BYTES: u64 = 56;
const SEGMENTS: u64 = 4;

/// The library as a file: a page with headers, an empty table of symbols and the code, and a page with the
/// dynamic section, to which loaders write.
fn library_image(requests: RawFd, answers: RawFd) -> Vec<u8> {
    // One symbol, which is none, and its name.
    let symbols_at = HEADER_BYTES + SEGMENTS * SEGMENT_BYTES;
    let names_at = symbols_at + 24;
    let code_at = names_at + 8;
    let mut image = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    image.extend([0; 8]);
    for half in [3u16, 62] {
        image.extend(half.to_le_bytes()); // a shared object, x86-64
    }
    image.extend(1u32.to_le_bytes());
    for long in [0, HEADER_BYTES, 0] {
        image.extend(long.to_le_bytes()); // no entry, segments, no sections
    }
    image.extend(0u32.to_le_bytes());
    for half in [HEADER_BYTES, SEGMENT_BYTES, SEGMENTS, 64, 0, 0] {
        image.extend((half as u16).to_le_bytes());
    }
    let code = code(requests, answers);
    let dynamic: Vec<u8> = [
        (5u64, names_at), // DT_STRTAB
        (6, symbols_at),  // DT_SYMTAB
        (10, 1),          // DT_STRSZ
        (11, 24),         // DT_SYMENT
        (12, code_at),    // DT_INIT
        (0, 0),
    ]
    .iter()
    .flat_map(|(name, value)| [name.to_le_bytes(), value.to_le_bytes()].concat())
    .collect();
    let first_bytes = code_at + code.len() as u64;
    let dynamic_bytes = dynamic.len() as u64;
    for (kind, flags, at, bytes) in [
        (PT_LOAD, PF_R | PF_X, 0, first_bytes),
        (PT_LOAD, PF_R | PF_W, PAGE, dynamic_bytes),
        (PT_DYNAMIC, PF_R | PF_W, PAGE, dynamic_bytes),
        (PT_GNU_STACK, PF_R | PF_W, 0, 0),
    ] {
        image.extend(kind.to_le_bytes());
        image.extend(flags.to_le_bytes());
        for long in [at, at, at, bytes, bytes, PAGE] {
            image.extend(long.to_le_bytes());
        }
    }
    image.resize(code_at as usize, 0);
    image.extend(code);
    image.resize(PAGE as usize, 0);
    image.extend(dynamic);
    image
}

/// The code, which finds the two descriptors and the path of our network behind its end.
fn code(requests: RawFd, answers: RawFd) -> Vec<u8> {
    unsafe extern "C" {
        static dumbbell_loaded_begin: u8;
        static dumbbell_loaded_end: u8;
    }
    let begin = &raw const dumbbell_loaded_begin;
    let end = &raw const dumbbell_loaded_end;
    // SAFETY: both are labels in one section, the second behind the first, and nothing writes there.
    let code = unsafe { std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin)) };
    let numbers = [requests, answers];
    let mut bytes = code.to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(format!("/proc/{}/ns/net\0", std::process::id()).into_bytes());
    bytes
}

// Numbers of system calls: arch/x86/entry/syscalls/syscall_64.tbl.
std::arch::global_asm!(
    ".pushsection .rodata.dumbbell_loaded, \"a\"",
    ".globl dumbbell_loaded_begin",
    ".globl dumbbell_loaded_end",
    "dumbbell_loaded_begin:",
    "push rbx",
    "sub rsp, 480",
    // write(answers, anything, 4): it waits.
    "mov eax, 1",
    "mov edi, dword ptr [rip + dumbbell_loaded_end + 4]",
    "mov rsi, rsp",
    "mov edx, 4",
    "syscall",
    // read(requests, rsp, 480); what is no entry ends the program.
    "2:",
    "xor eax, eax",
    "mov edi, dword ptr [rip + dumbbell_loaded_end]",
    "mov rsi, rsp",
    "mov edx, 480",
    "syscall",
    "cmp rax, 24",
    "jl 4f",
    // clone(CLONE_PARENT | SIGCHLD): a child of ours.
    "mov eax, 56",
    "mov edi, 0x8011",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "test eax, eax",
    "jz 3f",
    // write(answers, the child's number or an error, 4)
    "mov dword ptr [rsp], eax",
    "mov eax, 1",
    "mov edi, dword ptr [rip + dumbbell_loaded_end + 4]",
    "mov rsi, rsp",
    "mov edx, 4",
    "syscall",
    "jmp 2b",
    "3:",
    // The child: madvise(address, length, advice), up to an address of 0.
    "mov rbx, rsp",
    "5:",
    "mov rdi, qword ptr [rbx]",
    "test rdi, rdi",
    "jz 6f",
    "mov rsi, qword ptr [rbx + 8]",
    "mov rdx, qword ptr [rbx + 16]",
    "mov eax, 28",
    "syscall",
    "add rbx, 24",
    "jmp 5b",
    // open(our network), setns, close_range(3, all)
    "6:",
    "mov eax, 2",
    "lea rdi, [rip + dumbbell_loaded_end + 8]",
    "mov esi, 0x80000",
    "xor edx, edx",
    "syscall",
    "test eax, eax",
    "js 4f",
    "mov edi, eax",
    "mov eax, 308",
    "mov esi, 0x40000000",
    "syscall",
    "test eax, eax",
    "jnz 4f",
    "mov eax, 436",
    "mov edi, 3",
    "mov esi, -1",
    "xor edx, edx",
    "syscall",
    "add rsp, 480",
    "pop rbx",
    "ret",
    // exit_group(126)
    "4:",
    "mov eax, 231",
    "mov edi, 126",
    "syscall",
    "dumbbell_loaded_end:",
    ".popsection",
);

#[cfg(test)]
mod tests {
    use super::{LoadedProgram, request};

    /// Entering a network is for root.
    #[test]
    fn each_run_is_a_process_that_has_just_been_started() {
        let mut program = LoadedProgram::new("/bin/sh", &["-s"]).unwrap().unwrap();
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
        let error = LoadedProgram::new("/bin/no-such-program", &[]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}
