//! As much of C as it takes to find functions, conditions, calls and statements in `sqlite3.c`, whose style is regular.

use std::ops::Range;

/// A function with its body.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) returns_nothing: bool,
    /// The text between its braces, braces included.
    pub(crate) body: Range<usize>,
}

/// The text with everything blank that is not code: comments, strings, characters and directives. Positions stay the same.
pub(crate) fn code_only(source: &str) -> Vec<u8> {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    let mut is_line_blank = true;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'/' if rest.starts_with(b"/*") => length_to(rest, b"*/", 2),
            b'/' if rest.starts_with(b"//") => length_to(rest, b"\n", 2) - 1,
            quote @ (b'"' | b'\'') => length_of_quoted(rest, quote),
            b'#' if is_line_blank => length_of_directive(rest),
            other => {
                is_line_blank = other == b'\n' || (is_line_blank && other.is_ascii_whitespace());
                at += 1;
                continue;
            }
        };
        for byte in &mut code[at..at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length;
    }
    code
}

fn length_to(rest: &[u8], end: &[u8], from: usize) -> usize {
    let found = rest[from..].windows(end.len()).position(|window| window == end);
    found.map_or(rest.len(), |position| from + position + end.len())
}

fn length_of_quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// A directive ends at the first line that has no backslash at its end, outside of comments.
fn length_of_directive(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != b'\n' {
        at += match rest[at] {
            b'\\' => 2,
            b'/' if rest[at..].starts_with(b"/*") => length_to(&rest[at..], b"*/", 2),
            _ => 1,
        };
    }
    at.min(rest.len())
}

/// The functions of a part of the text: their header and their last brace begin lines.
pub(crate) fn functions(code: &[u8], part: Range<usize>) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut header = part.start;
    let mut at = part.start;
    while at < part.end {
        match code[at] {
            b';' => header = at + 1,
            b'{' => {
                let end = end_of_body(code, at, part.end);
                if let Some((name, returns_nothing)) = header_of_function(&code[header..at])
                    && code[..end].ends_with(b"\n}")
                {
                    functions.push(Function { name, returns_nothing, body: at..end });
                }
                (at, header) = (end, end);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    functions
}

/// The position after the first brace that begins a line.
fn end_of_body(code: &[u8], from: usize, to: usize) -> usize {
    let found = code[from..to].windows(2).position(|window| window == b"\n}");
    found.map_or(to, |position| from + position + 2)
}

fn header_of_function(header: &[u8]) -> Option<(String, bool)> {
    let header = std::str::from_utf8(header).ok()?.trim();
    let open = header.strip_suffix(')')?.find('(')?;
    let (before, name) =
        header[..open].trim_end().rsplit_once(|it: char| !is_of_name(it as u32))?;
    let returns_nothing = words(before).any(|word| word == "void") && !header[..open].contains('*');
    (!name.is_empty()).then(|| (name.to_owned(), returns_nothing))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !is_of_name(it as u32)).filter(|word| !word.is_empty())
}

fn is_of_name(byte: u32) -> bool {
    u8::try_from(byte).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The names in a part of the code, with their positions.
pub(crate) fn names(code: &[u8], part: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let end = part.end;
    let mut at = part.start;
    std::iter::from_fn(move || {
        while at < end && !is_of_name(code[at].into()) {
            at += 1;
        }
        let begin = at;
        while at < end && is_of_name(code[at].into()) {
            at += 1;
        }
        let name = std::str::from_utf8(&code[begin..at]).ok()?;
        (!name.is_empty()).then_some((begin, name))
    })
}

/// The text between the parentheses that open after a name, and the position after them.
pub(crate) fn parentheses(code: &[u8], after: usize) -> Option<(Range<usize>, usize)> {
    let open = skip_blanks(code, after);
    let end = matching(code, open, b'(', b')')?;
    Some((open + 1..end - 1, end))
}

fn skip_blanks(code: &[u8], from: usize) -> usize {
    from + code[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The position after what closes what opens here.
fn matching(code: &[u8], open: usize, opening: u8, closing: u8) -> Option<usize> {
    if code.get(open) != Some(&opening) {
        return None;
    }
    let mut depth = 0_usize;
    for (offset, byte) in code[open..].iter().enumerate() {
        if *byte == opening {
            depth += 1;
        } else if *byte == closing {
            depth -= 1;
            if depth == 0 {
                return Some(open + offset + 1);
            }
        }
    }
    None
}

/// The statements of every block of a body, block by block. Empty if its directives leave it unbalanced.
pub(crate) fn blocks(code: &[u8], body: Range<usize>) -> Vec<Vec<Range<usize>>> {
    let mut blocks = Vec::new();
    match block(code, body.start, &mut blocks) {
        Some(end) if end == body.end => blocks,
        _ => Vec::new(),
    }
}

fn block(code: &[u8], open: usize, blocks: &mut Vec<Vec<Range<usize>>>) -> Option<usize> {
    let mut statements = Vec::new();
    let mut at = skip_blanks(code, open + 1);
    while *code.get(at)? != b'}' {
        let end = statement(code, at, blocks)?;
        statements.push(at..end);
        at = skip_blanks(code, end);
    }
    blocks.push(statements);
    Some(at + 1)
}

fn statement(code: &[u8], at: usize, blocks: &mut Vec<Vec<Range<usize>>>) -> Option<usize> {
    if code[at] == b'{' {
        return block(code, at, blocks);
    }
    let after_keyword = |keyword: &str| {
        let is_it = names(code, at..code.len()).next() == Some((at, keyword));
        is_it.then_some(at + keyword.len())
    };
    if let Some(after) = ["while", "for", "switch"].into_iter().find_map(after_keyword) {
        let (_, after) = parentheses(code, after)?;
        return statement(code, skip_blanks(code, after), blocks);
    }
    if let Some(after) = after_keyword("if") {
        let (_, after) = parentheses(code, after)?;
        let end = statement(code, skip_blanks(code, after), blocks)?;
        let otherwise = skip_blanks(code, end);
        let is_else =
            code[otherwise..].starts_with(b"else") && !is_of_name(code[otherwise + 4].into());
        return match is_else {
            true => statement(code, skip_blanks(code, otherwise + 4), blocks),
            false => Some(end),
        };
    }
    if let Some(after) = after_keyword("do") {
        let end = statement(code, skip_blanks(code, after), blocks)?;
        return end_of_simple(code, end);
    }
    if after_keyword("case").is_some() || after_keyword("default").is_some() {
        return Some(at + code[at..].iter().position(|byte| *byte == b':')? + 1);
    }
    end_of_simple(code, at)
}

/// The end of a statement without blocks, or of a label.
fn end_of_simple(code: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = match code.get(at)? {
            b';' => return Some(at + 1),
            b'(' => matching(code, at, b'(', b')')?,
            b'{' => matching(code, at, b'{', b'}')?,
            b':' if code[from..at].iter().all(|byte| is_of_name((*byte).into())) => {
                return Some(at + 1);
            }
            b'}' => return None,
            _ => at + 1,
        };
    }
}
