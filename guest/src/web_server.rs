//! A web server with one page: `dumbbell-guest web-server PORT BYTES`.
//!
//! Whatever is asked for, the answer is a page of a fixed number of zeros (RFC 9112). It serves connections side
//! by side, keeps them open where the client wants that, and ends when it is ended.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;

/// The first argument that leads here.
pub const WORD: &str = "web-server";
/// A request's head has this number of bytes at most.
const LARGEST_HEAD: u64 = 64 * 1024;
const PIECE: usize = 64 * 1024;

/// Serves; returns only where it cannot.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    let asked = match words.as_deref() {
        Some([port, bytes]) => port.parse().ok().zip(bytes.parse().ok()),
        _ => None,
    };
    let Some((port, bytes)) = asked else {
        eprintln!("dumbbell-guest web-server PORT BYTES");
        return ExitCode::FAILURE;
    };
    match serve(port, bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell-guest web-server: port {port}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(port: u16, bytes: u64) -> io::Result<()> {
    for connection in TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?.incoming() {
        let connection = connection?;
        // A client that goes away is no fault of the server.
        std::thread::spawn(move || answer_all(connection, bytes));
    }
    Ok(())
}

fn answer_all(connection: TcpStream, bytes: u64) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::new(connection);
    while let Some(closes) = request(&mut reader)? {
        answer(&mut writer, bytes, closes)?;
        if closes {
            break;
        }
    }
    Ok(())
}

/// Reads the head of a request: whether the connection is to be closed after it; none at its end.
fn request(reader: &mut impl BufRead) -> io::Result<Option<bool>> {
    let mut head = reader.take(LARGEST_HEAD);
    let (mut closes, mut lines) = (false, 0);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() && lines > 0 {
            return Ok(Some(closes));
        }
        closes |= line == "connection: close" || lines == 0 && line.ends_with("http/1.0");
        lines += 1;
    }
}

fn answer(writer: &mut impl Write, bytes: u64, closes: bool) -> io::Result<()> {
    let connection = if closes { "close" } else { "keep-alive" };
    write!(
        writer,
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
         Content-Length: {bytes}\r\nConnection: {connection}\r\n\r\n"
    )?;
    let zeros = [0u8; PIECE];
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(PIECE as u64) as usize;
        writer.write_all(&zeros[..piece])?;
        left -= piece as u64;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_an_empty_line_and_says_whether_the_connection_does() {
        let mut text =
            &b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nConnection: Close\r\n\r\n"[..];
        assert_eq!(request(&mut text).unwrap(), Some(false));
        assert_eq!(request(&mut text).unwrap(), Some(true));
        assert_eq!(request(&mut text).unwrap(), None);
        assert_eq!(
            request(&mut &b"GET / HTTP/1.0\r\n\r\n"[..]).unwrap(),
            Some(true)
        );
    }

    #[test]
    fn a_head_without_end_is_not_read_to_its_end() {
        let mut endless = io::repeat(b'a');
        let mut reader = BufReader::new(&mut endless);
        assert!(request(&mut reader).unwrap().is_none());
    }

    #[test]
    fn an_answer_has_the_length_that_it_says() {
        let mut told = Vec::new();
        answer(&mut told, 100_000, true).unwrap();
        let head = told
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        assert_eq!(told.len() - head - 4, 100_000);
    }
}
