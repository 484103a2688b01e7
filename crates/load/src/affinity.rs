//! Type affinity: which storage class a column prefers (<https://sqlite.org/datatype3.html>).

/// The affinity of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Affinity {
    /// Numbers become texts.
    Text,
    /// Texts that look like numbers become integers or reals.
    Numeric,
    /// As `Numeric`; they differ in CAST only.
    Integer,
    /// As `Numeric`, and integers become reals.
    Real,
    /// Everything stays as it is.
    Blob,
}

impl Affinity {
    /// Returns whether a declared type is one of numbers: others, such as DATE, may have the affinity of numbers too.
    pub(crate) fn is_of_numbers(declared: &str) -> bool {
        let is_numeric = || {
            let declared = declared.to_ascii_uppercase();
            declared.contains("NUM") || declared.contains("DEC")
        };
        match Affinity::of(declared) {
            Affinity::Integer | Affinity::Real => true,
            Affinity::Numeric => is_numeric(),
            Affinity::Text | Affinity::Blob => false,
        }
    }

    /// Returns whether a declared type is one of truth values.
    pub(crate) fn is_of_truth_values(declared: &str) -> bool {
        declared.to_ascii_uppercase().contains("BOOL")
    }

    /// The affinity that SQLite gives a column declared with this type, by the rules of section 3.1.
    pub fn of(declared: &str) -> Affinity {
        let declared = declared.to_ascii_uppercase();
        let has = |part: &str| declared.contains(part);
        if has("INT") {
            Affinity::Integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Affinity::Text
        } else if has("BLOB") || declared.is_empty() {
            Affinity::Blob
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Affinity::Real
        } else {
            Affinity::Numeric
        }
    }

    /// Returns the affinity in a STRICT table, where `ANY` keeps everything as it is.
    pub fn of_strict(declared: &str) -> Affinity {
        if declared.eq_ignore_ascii_case("ANY") { Affinity::Blob } else { Affinity::of(declared) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_follows_the_rules_of_sqlite_in_their_order() {
        for (declared, affinity) in [
            ("INTEGER", Affinity::Integer),
            ("bigint", Affinity::Integer),
            ("CHARINT", Affinity::Integer),
            ("FLOATING POINT", Affinity::Integer),
            ("VARCHAR(10)", Affinity::Text),
            ("", Affinity::Blob),
            ("BLOB", Affinity::Blob),
            ("DOUBLE PRECISION", Affinity::Real),
            ("DECIMAL(10,5)", Affinity::Numeric),
            ("DATE", Affinity::Numeric),
            ("ANY", Affinity::Numeric),
        ] {
            assert_eq!(Affinity::of(declared), affinity, "{declared}");
        }
        assert_eq!(Affinity::of_strict("any"), Affinity::Blob);
    }
}
