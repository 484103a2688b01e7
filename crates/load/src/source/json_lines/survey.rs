//! Where the rows of a JSON text are, as its beginning shows.

/// Where the rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rows {
    /// On a line each.
    Lines,
    /// Elements of an array.
    Array,
    /// Objects one after another, on any number of lines.
    Objects,
    /// Elements of a list in an object, or objects by key; under this path of keys.
    List {
        path: Vec<String>,
        /// Whether the path was found, not named: then the document must not have a second list.
        is_found: bool,
    },
}

/// The kind of a JSON text by its beginning.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Where the first value ends, if it does.
    end: Option<usize>,
    /// The lists of objects in it, by the keys that lead there.
    lists: Vec<Vec<String>>,
    /// Whether it is an object of objects.
    is_keyed: bool,
    /// Whether it is an object of arrays, or of objects with the same numbers of rows for keys.
    is_of_columns: bool,
    /// The keys of the objects in it, by their places.
    keys: Vec<String>,
    /// Whether one of these keys is no number, or differs between the objects.
    has_other_keys: bool,
}

/// A container that is open.
struct Frame {
    is_object: bool,
    /// The latest key.
    key: String,
    members: usize,
    objects: usize,
    arrays: usize,
}

impl Survey {
    /// Looks at the first value, which is an object.
    fn of(text: &[u8]) -> Survey {
        let mut survey = Survey::default();
        let mut frames: Vec<Frame> = Vec::new();
        let (mut at, mut is_value) = (0, false);
        while let Some(byte) = text.get(at) {
            match byte {
                b'"' => {
                    let Some(length) = text_length(&text[at..]) else { break };
                    let depth = frames.len();
                    match frames.last_mut() {
                        Some(frame) if frame.is_object && !is_value => {
                            frame.key =
                                serde_json::from_slice(&text[at..at + length]).unwrap_or_default();
                            if depth == 2 {
                                survey.add_key(frame.members, &frame.key);
                            }
                        }
                        Some(frame) => frame.members += 1,
                        None => {}
                    }
                    at += length;
                    continue;
                }
                b':' => is_value = true,
                b',' => is_value = false,
                b'{' | b'[' => {
                    survey.open(*byte == b'{', &mut frames);
                    is_value = false;
                }
                b'}' | b']' => {
                    if frames.len() == 1 {
                        survey.end = Some(at + 1);
                        break;
                    }
                    frames.pop();
                }
                byte if byte.is_ascii_whitespace() => {}
                _ => {
                    let length = text[at..]
                        .iter()
                        .position(|byte| matches!(byte, b',' | b'}' | b']' | b'\n'));
                    if let Some(frame) = frames.last_mut() {
                        frame.members += 1;
                    }
                    at += length.unwrap_or(text.len() - at).max(1);
                    continue;
                }
            }
            at += 1;
        }
        // Of an object that goes on, its beginning tells.
        let least = if survey.end.is_some() { 2 } else { 1 };
        let whole = frames.first().filter(|frame| frame.members >= least);
        let are_objects = whole.is_some_and(|frame| frame.objects == frame.members);
        let is_numbered = !survey.keys.is_empty() && !survey.has_other_keys;
        survey.is_keyed =
            are_objects && !is_numbered && whole.is_some_and(|frame| frame.members > 1);
        survey.is_of_columns =
            whole.is_some_and(|frame| frame.arrays == frame.members) || are_objects && is_numbered;
        survey
    }

    /// Adds the key that is in this place of one of the objects in it.
    fn add_key(&mut self, place: usize, key: &str) {
        // Columns are often called by their years.
        let is_number = key.parse::<u64>().is_ok_and(|number| !(1800..2200).contains(&number));
        self.has_other_keys |= !is_number;
        match self.keys.get(place) {
            Some(known) => self.has_other_keys |= known != key,
            None => self.keys.push(key.to_owned()),
        }
    }

    /// Enters an object or an array.
    fn open(&mut self, is_object: bool, frames: &mut Vec<Frame>) {
        let is_first = frames.last().is_some_and(|frame| !frame.is_object && frame.members == 0);
        let (list, above) =
            frames.split_last().map_or((None, &[][..]), |(list, above)| (Some(list), above));
        let is_in_objects = above.iter().all(|frame| frame.is_object) && !above.is_empty();
        if list.is_some() && is_object && is_first && is_in_objects {
            self.lists.push(above.iter().map(|frame| frame.key.clone()).collect());
        }
        if let Some(frame) = frames.last_mut() {
            frame.members += 1;
            frame.objects += usize::from(is_object);
            frame.arrays += usize::from(!is_object);
        }
        frames.push(Frame { is_object, key: String::new(), members: 0, objects: 0, arrays: 0 });
    }
}

/// Returns the bytes of a text with its quotes.
fn text_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

impl Rows {
    /// Finds the rows of a text that begins so, and whose end this may be. In a file of lines, one object on a line is a row,
    /// and so is one on several lines that shows neither a list of objects nor objects by key.
    ///
    /// # Errors
    /// There are several lists of objects, columns in place of rows, or neither rows nor an end.
    pub(super) fn find(text: &[u8], is_whole: bool, is_of_lines: bool) -> Result<Rows, String> {
        let survey = Survey::of(text);
        let value = &text[..survey.end.unwrap_or(text.len())];
        let behind = &text[value.len()..];
        let is_on_one_line = !value.trim_ascii().contains(&b'\n');
        let line = &behind[..memchr::memchr(b'\n', behind).unwrap_or(behind.len())];
        let is_last = behind.trim_ascii().is_empty() && (is_whole || survey.end.is_none());
        if !is_last {
            let lines = behind.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            // A line that only opens an object continues on the next one, unless it is damaged.
            let continues = |(line, next): (&[u8], &[u8])| line == b"{" && !next.starts_with(b"{");
            let has_own_line = is_on_one_line
                && line.trim_ascii().is_empty()
                && (is_of_lines || !lines.clone().zip(lines.skip(1)).any(continues));
            return Ok(if has_own_line { Rows::Lines } else { Rows::Objects });
        }
        if is_on_one_line && is_of_lines {
            return Ok(Rows::Lines);
        }
        let depth = survey.lists.iter().map(Vec::len).min().unwrap_or(0);
        let mut lists: Vec<&Vec<String>> =
            survey.lists.iter().filter(|path| path.len() == depth).collect();
        lists.dedup();
        match lists[..] {
            [path] => Ok(Rows::List { path: path.clone(), is_found: true }),
            [] if is_of_lines && (survey.end.is_none() || !survey.is_keyed) => Ok(Rows::Objects),
            [] if survey.is_keyed => Ok(Rows::List { path: Vec::new(), is_found: true }),
            [] if survey.is_of_columns => Err("it is one JSON document with a list or object for each column, which are not rows (pandas writes rows with orient='records'); choose a list of rows with --rows, or load it as one row with --format json-lines".to_owned()),
            [] if survey.end.is_none() && !is_whole => Err("its first MiB shows no list of objects; name the list with --rows, or load it with --format json-lines, which reads each top-level object as a row".to_owned()),
            [] if is_on_one_line => Ok(Rows::Lines),
            [] => Ok(Rows::Objects),
            _ => {
                let names: Vec<String> = lists.iter().map(|path| path.join(".")).collect();
                let names = names.join(", ");
                Err(format!(
                    "it is one JSON document with several lists of objects: {names}; choose one with --rows"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(path: &str) -> Result<Rows, String> {
        let path = path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        Ok(Rows::List { path, is_found: true })
    }

    #[test]
    fn rows_are_found_where_they_are() {
        for (text, rows) in [
            ("{\"a\": 1}\n{\"a\": 2}\n", Ok(Rows::Lines)),
            ("{\"a\": [{\"b\": 1}]}\n{\"a\": 2}\n", Ok(Rows::Lines)),
            ("{\"a\": 1} {\"a\": 2}\n", Ok(Rows::Objects)),
            ("{\n\"a\": 1\n}\n{\n\"a\": 2}", Ok(Rows::Objects)),
            ("{\n\"a\": [1, 2], \"b\": {\"c\": 1}}\n", Ok(Rows::Objects)),
            ("{\"a\": 1}\n", Ok(Rows::Lines)),
            ("{\"meta\": {\"x\": [1]}, \"r\\u006fws\": [\n{\"a\": \"]}\"}]}", list("rows")),
            ("{\"r\": {\"docs\": [{\"a\": [{\"b\": 1}]}, {\"a\": []}]}}", list("r.docs")),
            (
                "{\"x\": [], \"features\": [{\"a\": {\"b\": [{}]}}], \"y\": [1, {}]}",
                list("features"),
            ),
            ("{\"1\": {\"a\": 1}, \"2\": {\"a\": 2}}", list("")),
            ("{\"a\": [{\"b\"", list("a")),
            ("{\"a\": 1}\n{\n\"a\": 2\n}\n", Ok(Rows::Objects)),
            ("{\"a\": 1}\n{\"a\": 2\n{\"a\": \"{\"}", Ok(Rows::Lines)),
            ("{\"a\": 1}\n{\n{\"a\": 2}\n", Ok(Rows::Lines)),
            ("{\"17\": {\"a\": 1}, \"18\": {\"a\": 2}}", list("")),
            ("{\"DE\": {\"2023\": 1, \"2024\": 2}, \"FR\": {\"2023\": 3, \"2024\": 4}}", list("")),
            ("{\"u\": {\"3\": 1, \"7\": 2}, \"v\": {\"7\": 1}}", list("")),
            ("{\"u\": {\"3\": 1, \"a\": 2}, \"v\": {\"3\": 1, \"a\": 2}}", list("")),
        ] {
            assert_eq!(Rows::find(text.as_bytes(), true, false), rows, "{text}");
        }
        for (text, is_whole, reason) in [
            ("{\"x\": [1, 2], \"y\": [3, 4]}", true, "for each column"),
            ("{\"x\": {\"0\": 1, \"1\": 2}, \"y\": {\"0\": 3, \"1\": 4}}", true, "for each column"),
            ("{\"x\": {\"3\": 1, \"7\": 2}, \"y\": {\"3\": 3, \"7\": 4}}", true, "for each column"),
            ("{\n\"x\": {\"7\": \"a\", \"3\": [2]},\n\"y\": {\"7\": 3", false, "for each column"),
            ("{\"x\": {\"0\": 1, \"1\": 2", false, "for each column"),
            ("{\"x\": [1, 2", false, "for each column"),
            ("{\"x\": 1, \"y\": \"", false, "no list of objects"),
            ("{\n\"x\": 1,\n\"y\": \"", false, "no list of objects"),
        ] {
            let found = Rows::find(text.as_bytes(), is_whole, false).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
            // The option that the reason names helps.
            let rows = if text.contains('\n') { Rows::Objects } else { Rows::Lines };
            assert_eq!(Rows::find(text.as_bytes(), is_whole, true), Ok(rows), "{text}");
        }
        let keyed = "{\"u\": {\"a\": 1}, \"v\": {\"a\"";
        assert_eq!(Rows::find(keyed.as_bytes(), false, false), list(""));
        let indented = "{\n\"u\": {\"a\": 1},\n\"v\": {\"a\": 2}\n}";
        assert_eq!(Rows::find(indented.as_bytes(), true, true), list(""));
        assert_eq!(Rows::find(&indented.as_bytes()[..20], false, true), Ok(Rows::Objects));
        let damaged = b"{\"a\": 1}\n{\n\"a\": 2}\n{\"a\": 3}\n";
        assert_eq!(Rows::find(damaged, true, true), Ok(Rows::Lines));
        let two = Rows::find(b"{\"a\": [{}], \"b\": [{}]}", true, false).unwrap_err();
        assert!(two.contains("a, b"), "{two}");
        assert_eq!(Rows::find(b"{\"a\": [{}]}", true, true), Ok(Rows::Lines));
    }
}
