//! `pragmark watch`: a program's statements while it runs, and their summary.

use std::fmt::Write as _;
use std::io::{IsTerminal, Seek, Write, stdin, stdout};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use app::watch::{self, Moment, Order, Screen, WatchRequest};
use app::{Error, Result, files};
use report::document::Document;
use report::render;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::record::{exit, warnings, why_nothing};
use crate::exit::Exit;
use crate::output;
use crate::progress::is_bar_wanted;

/// How often the view is drawn.
const PERIOD: Duration = Duration::from_secs(1);
/// The last lines of the view, which fit a width of sixty columns.
const KEYS: [&str; 2] = [
    "sort: t time  n executions  m mean  p p99  r rows  s scans",
    "1-9 open  space freeze  w write  q quit",
];

/// Watches a program, and prints what it did.
pub fn execute(mut request: WatchRequest) -> Result<Exit> {
    let program = Path::new(&request.command[0]).to_owned();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let has_terminal = stdin().is_terminal() && stdout().is_terminal() && is_bar_wanted();
    let mut printed = None;
    let mut view = None;
    if has_terminal {
        let file = tempfile::tempfile().map_err(Error::unusable)?;
        request.output = Some(file.try_clone().map_err(Error::unusable)?);
        printed = Some(file);
        view = Some(View::open(&name)?);
    }
    let watched = watch::watch(request, view.as_mut().map(|view| view as &mut dyn Screen));
    drop(view);
    if let Some(mut file) = printed {
        // What the program printed comes where it would have come.
        let shown = file.rewind().and_then(|()| std::io::copy(&mut file, &mut stdout()));
        shown.map_err(Error::unusable)?;
    }
    let (status, moment) = watched?;
    if moment.seen.connections == 0 {
        tell!("nothing was seen: {}", why_nothing(&moment.seen, Some(&program)));
        return Ok(exit(Some(status), false));
    }
    let summary = render::terminal(&watch::summary(&name, &moment), output::terminal_style());
    output::write_text(None, &summary)?;
    let problems = warnings(&moment.seen).into_iter().chain(moment.problems);
    problems.for_each(|problem| tell!("warning: {problem}"));
    Ok(exit(Some(status), true))
}

/// The view on a terminal, which is restored when this is dropped.
struct View {
    program: String,
    before: Termios,
    drawn: Option<Instant>,
    order: Order,
    /// The number of the statement that is open.
    open: Option<usize>,
    frozen: Option<Moment>,
    is_frozen: bool,
    wants_file: bool,
    /// News for the user.
    notice: String,
}

impl View {
    fn open(program: &str) -> Result<View> {
        let before = tcgetattr(stdin()).map_err(Error::unusable)?;
        let view = View {
            program: program.to_owned(),
            before,
            drawn: None,
            order: Order::default(),
            open: None,
            frozen: None,
            is_frozen: false,
            wants_file: false,
            notice: String::new(),
        };
        view.take_keys();
        put("\x1b[?1049h\x1b[?25l");
        Ok(view)
    }

    /// Has the terminal hand over each key at once. Repeated with each drawing, because a shell sets its own modes when the
    /// program is stopped and continued.
    fn take_keys(&self) {
        let mut modes = self.before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Without it, keys need Enter.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }

    fn key(&mut self, key: u8) {
        let order = match key {
            b't' => Some(Order::Time),
            b'n' => Some(Order::Executions),
            b'm' => Some(Order::Mean),
            b'p' => Some(Order::P99),
            b'r' => Some(Order::Rows),
            b's' => Some(Order::Scans),
            _ => None,
        };
        if let Some(order) = order {
            (self.order, self.open) = (order, None);
        }
        self.notice.clear();
        match key {
            b'1'..=b'9' => self.open = Some(usize::from(key - b'1')),
            b' ' => self.is_frozen = !self.is_frozen,
            b'w' => self.wants_file = true,
            // As a signal to this process alone, which is passed on to the program.
            b'q' => drop(kill_process(getpid(), Signal::TERM)),
            _ if order.is_none() => self.open = None,
            _ => {}
        }
    }

    fn write(&mut self, moment: &Moment) {
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let name = format!("watch-{}-{}.md", self.program, time.replace([':', '-'], ""));
        let text = render::markdown(&watch::summary(&self.program, moment));
        let written = files::write(Path::new(&name), |out| out.write_all(text.as_bytes()));
        self.notice = match written {
            Ok(()) => format!("written to {name}"),
            Err(error) => error.message,
        };
    }

    fn draw(&self, moment: &Moment) {
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (width.0.into(), usize::from(height.0)));
        let statements = watch::ordered(moment, self.order);
        let open = self.open.and_then(|index| statements.get(index));
        let document = match open {
            Some(usage) => watch::statement(moment, usage),
            None => watch::live(moment, self.order, height.saturating_sub(8).max(1)),
        };
        let mut lines = lines(&document, width);
        lines.truncate(height.saturating_sub(1 + KEYS.len()));
        let frozen = if self.is_frozen { "frozen; " } else { "" };
        lines.push(format!("{frozen}{}", self.notice));
        lines.extend(KEYS.map(|keys| keys.chars().take(width).collect()));
        let mut frame = String::from("\x1b[H");
        for (index, line) in lines.iter().enumerate() {
            let end = if index + 1 == lines.len() { "" } else { "\r\n" };
            let _ = write!(frame, "{line}\x1b[K{end}");
        }
        put(&(frame + "\x1b[J"));
    }
}

impl Screen for View {
    fn is_due(&mut self) -> bool {
        let mut keys = [0; 16];
        // Where a shell has reset the terminal, reading would wait for Enter.
        let waiting = rustix::io::ioctl_fionread(stdin()).unwrap_or(0) > 0;
        let pressed = if waiting { rustix::io::read(stdin(), &mut keys).unwrap_or(0) } else { 0 };
        keys[..pressed].iter().for_each(|key| self.key(*key));
        let is_time = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD);
        pressed > 0 || (is_time && !self.is_frozen)
    }

    fn show(&mut self, moment: &Moment) {
        self.drawn = Some(Instant::now());
        self.take_keys();
        if !self.is_frozen {
            self.frozen = None;
        }
        let shown = match (self.is_frozen, self.frozen.take()) {
            (true, Some(frozen)) => frozen,
            _ => moment.clone(),
        };
        if std::mem::take(&mut self.wants_file) {
            self.write(&shown);
        }
        self.draw(&shown);
        self.frozen = Some(shown);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        put("\x1b[?25h\x1b[?1049l");
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

fn lines(document: &Document, width: usize) -> Vec<String> {
    let style = report::Style { width, ..output::terminal_style() };
    render::terminal(document, style).lines().map(str::to_owned).collect()
}

/// Writes to the terminal; one that is gone does not concern the program that is watched.
fn put(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
