//! Reading scripts.

use dumbbell_engine::tcp::segment::{Flags, SackBlock, SackBlocks, Segment, Timestamps};

/// When an event is to happen, microseconds.
#[derive(Debug, Clone, Copy)]
pub enum When {
    At(u64),
    After(u64),
    Between(u64, u64),
    Any,
}

/// Options that only a handshake carries.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynOptions {
    pub mss_bytes: Option<u32>,
    pub scale: Option<u32>,
}

/// A segment that is to be sent. What the script does not say is not compared.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    segment: Segment,
    has_ack: bool,
    window: Option<u64>,
    ect: Option<bool>,
}

#[derive(Debug, Clone)]
pub struct Assertion {
    pub field: String,
    operator: String,
    value: String,
}

#[derive(Debug, Clone)]
pub enum Action {
    Ignore,
    Set(String, String),
    Connect,
    Listen,
    Write(u64),
    Close,
    HostQueueKeeps,
    HostQueueLoses(u64),
    Read(u64),
    Inject(Segment, SynOptions),
    Expect(Expected),
    Assert(Vec<Assertion>),
}

#[derive(Debug, Clone)]
pub struct Event {
    pub line: usize,
    pub text: String,
    pub when: When,
    pub action: Action,
}

impl Expected {
    /// Whether this is what was sent. Windows after the handshake are scaled.
    pub fn matches(&self, sent: &Segment, scale: u32) -> bool {
        let want = &self.segment;
        let is_syn = want.flags.has(Flags::SYN);
        let control = sent.flags.without(Flags::ECT | Flags::CE);
        let shown = if is_syn {
            sent.window_bytes
        } else {
            sent.window_bytes >> scale
        };
        let echo = |segment: &Segment| segment.timestamps.map(|stamps| stamps.echo_ms);
        control == want.flags.without(Flags::ECT)
            && sent.seq == want.seq
            && sent.payload_bytes == want.payload_bytes
            && (!self.has_ack || sent.ack == want.ack)
            && sent.sack == want.sack
            && (want.timestamps.is_none() || echo(sent) == echo(want))
            && self.window.is_none_or(|window| window == shown)
            && self.ect.is_none_or(|ect| ect == sent.flags.has(Flags::ECT))
    }
}

impl Assertion {
    pub fn holds(&self, found: u64) -> Result<bool, String> {
        let want = match self.value.as_str() {
            "TCP_CA_Open" => 0,
            "TCP_CA_Disorder" => 1,
            "TCP_CA_CWR" => 2,
            "TCP_CA_Recovery" => 3,
            "TCP_CA_Loss" => 4,
            number => number
                .parse()
                .map_err(|_| format!("{number} is no number"))?,
        };
        Ok(match self.operator.as_str() {
            "==" => found == want,
            "!=" => found != want,
            "<" => found < want,
            ">" => found > want,
            "<=" => found <= want,
            ">=" => found >= want,
            other => return Err(format!("no operator {other}")),
        })
    }
}

/// The events of a script.
pub fn script(text: &str) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("").trim();
        if code.is_empty() || code.starts_with("--") {
            continue;
        }
        let event =
            event(index + 1, code).map_err(|error| format!("line {}: {error}", index + 1))?;
        events.push(event);
    }
    Ok(events)
}

fn event(line: usize, code: &str) -> Result<Event, String> {
    let made = |when, action| Event {
        line,
        text: code.to_owned(),
        when,
        action,
    };
    if code.starts_with('`') {
        return Ok(made(When::After(0), command(code)?));
    }
    let (time, rest) = code
        .split_once(char::is_whitespace)
        .ok_or("a time and an event")?;
    Ok(made(when(time)?, action(rest.trim())?))
}

fn seconds(text: &str) -> Result<u64, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text} is no time"))?;
    Ok((value * 1e6).round() as u64)
}

fn when(text: &str) -> Result<When, String> {
    if text == "*" {
        return Ok(When::Any);
    }
    let Some(relative) = text.strip_prefix('+') else {
        return Ok(When::At(seconds(text)?));
    };
    match relative.split_once("~+") {
        Some((first, last)) => Ok(When::Between(seconds(first)?, seconds(last)?)),
        None => Ok(When::After(seconds(relative)?)),
    }
}

fn command(code: &str) -> Result<Action, String> {
    if let Some((_, pkts)) = code.trim_matches('`').split_once("initcwnd ") {
        return Ok(Action::Set("initcwnd".into(), pkts.trim().to_owned()));
    }
    if let Some((_, what)) = code.trim_matches('`').split_once("host-queue ") {
        return match what.trim().split_once(' ') {
            None if what.trim() == "keeps" => Ok(Action::HostQueueKeeps),
            Some(("loses", pkts)) => {
                let pkts = pkts.trim().parse();
                Ok(Action::HostQueueLoses(pkts.map_err(|_| what.to_owned())?))
            }
            _ => Err(format!("no host-queue {what}")),
        };
    }
    let setting = code.trim_matches('`').rsplit("net.ipv4.").next();
    let (name, value) = setting
        .and_then(|setting| setting.split_once('='))
        .ok_or("sysctl -q net.ipv4.NAME=VALUE")?;
    Ok(Action::Set(name.trim().to_owned(), value.trim().to_owned()))
}

fn action(text: &str) -> Result<Action, String> {
    if text.starts_with('`') {
        return command(text);
    }
    if let Some(rest) = text.strip_prefix('<') {
        let (segment, options, _) = segment(rest.trim())?;
        return Ok(Action::Inject(segment, options));
    }
    if let Some(rest) = text.strip_prefix('>') {
        return Ok(Action::Expect(segment(rest.trim())?.2));
    }
    if let Some(rest) = text.strip_prefix("%{") {
        return assertions(rest.trim_end_matches("}%"));
    }
    call(text)
}

fn call(text: &str) -> Result<Action, String> {
    let (name, rest) = text.split_once('(').ok_or("a system call")?;
    let arguments = rest.rsplit_once(')').map_or(rest, |(inside, _)| inside);
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let number = |index: usize| -> Result<u64, String> {
        let argument = arguments.get(index).ok_or("too few arguments")?;
        argument
            .parse()
            .map_err(|_| format!("{argument} is no number"))
    };
    Ok(match name {
        "connect" => Action::Connect,
        "listen" => Action::Listen,
        "write" | "send" => Action::Write(number(2)?),
        "read" => Action::Read(number(2)?),
        "close" => Action::Close,
        "setsockopt" => match arguments.get(2).copied().unwrap_or("") {
            "TCP_CONGESTION" => {
                let name = arguments.get(3).copied().unwrap_or("").trim_matches('"');
                Action::Set("congestion".into(), name.into())
            }
            "TCP_NODELAY" => Action::Set("nodelay".into(), "1".into()),
            _ => Action::Ignore,
        },
        "socket" | "bind" | "accept" | "fcntl" => Action::Ignore,
        other => return Err(format!("no call {other}")),
    })
}

fn assertions(text: &str) -> Result<Action, String> {
    let parts = text.split([';', '\n']).flat_map(|part| part.split(" and "));
    let mut found = Vec::new();
    for part in parts {
        let part = part.trim().trim_start_matches("assert").trim();
        // What packetdrill prints when it fails follows a comma.
        let part = part.split(',').next().unwrap_or("").trim();
        if part.is_empty() {
            continue;
        }
        let words: Vec<&str> = part.split_whitespace().collect();
        let [field, operator, value] = words[..] else {
            return Err(format!("FIELD OPERATOR VALUE instead of {part:?}"));
        };
        found.push(Assertion {
            field: field.into(),
            operator: operator.into(),
            value: value.into(),
        });
    }
    Ok(Action::Assert(found))
}

fn flags(text: &str) -> Result<Flags, String> {
    let mut flags = Flags::default();
    for letter in text.chars() {
        flags |= match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'P' => Flags::PSH,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            '.' => Flags::ACK,
            other => return Err(format!("no flag {other}")),
        };
    }
    Ok(flags)
}

/// `[ect0] P. 1:1001(1000) ack 1 win 257 <sack 1:2 3:4,TS val 1 ecr 2>`
fn segment(text: &str) -> Result<(Segment, SynOptions, Expected), String> {
    let (fields, options) = match text.split_once('<') {
        Some((fields, options)) => (fields, options.trim_end_matches('>')),
        None => (text, ""),
    };
    let mut words = fields.split_whitespace().peekable();
    let mut ect = None;
    let mut segment = Segment::default();
    if let Some(mark) = words.next_if(|word| word.starts_with('[')) {
        ect = Some(mark.contains("ect") || mark.contains("ce"));
        segment.flags |= match mark {
            "[ect0]" => Flags::ECT,
            "[ce]" => Flags::CE,
            "[noecn]" => Flags::default(),
            other => return Err(format!("no mark {other}")),
        };
    }
    segment.flags |= flags(words.next().ok_or("flags")?)?;
    let range = words.next().ok_or("SEQ:END(LENGTH)")?;
    let number = |text: &str| -> Result<u64, String> {
        text.parse().map_err(|_| format!("{text} is no number"))
    };
    let (seq, rest) = range.split_once(':').ok_or("SEQ:END(LENGTH)")?;
    let (_, length) = rest.split_once('(').ok_or("SEQ:END(LENGTH)")?;
    segment.seq = number(seq)?;
    segment.payload_bytes = number(length.trim_end_matches(')'))? as u32;
    let (mut has_ack, mut window) = (false, None);
    while let Some(word) = words.next() {
        let value = number(words.next().ok_or("a value")?)?;
        match word {
            "ack" => (segment.ack, has_ack) = (value, true),
            "win" => (segment.window_bytes, window) = (value, Some(value)),
            other => return Err(format!("no field {other}")),
        }
    }
    let mut syn = SynOptions::default();
    for option in options.split(',') {
        self::option(option.trim(), &mut segment, &mut syn)?;
    }
    let expected = Expected {
        segment,
        has_ack,
        window,
        ect,
    };
    Ok((segment, syn, expected))
}

fn option(text: &str, segment: &mut Segment, syn: &mut SynOptions) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |text: &str| -> Result<u64, String> {
        text.parse().map_err(|_| format!("{text} is no number"))
    };
    match words[..] {
        [] | ["nop"] | ["eol"] | ["sackOK"] | ["..."] => {}
        ["mss", value] => syn.mss_bytes = Some(number(value)? as u32),
        ["wscale", value] => syn.scale = Some(number(value)? as u32),
        ["TS", "val", value, "ecr", echo] => {
            segment.timestamps = Some(Timestamps {
                value_ms: number(value)? as u32,
                echo_ms: number(echo)? as u32,
            });
        }
        ["sack", ..] => {
            let mut blocks = SackBlocks::default();
            for block in &words[1..] {
                let (start, end) = block.split_once(':').ok_or("START:END")?;
                let (start, end) = (number(start)?, number(end)?);
                blocks.push(SackBlock { start, end }, usize::MAX);
            }
            segment.sack = blocks;
        }
        _ => return Err(format!("no option {text:?}")),
    }
    Ok(())
}
