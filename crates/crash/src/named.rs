//! Enumerations whose values have names on the command line, in files and in SQL.

/// A name that is not one of those allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not {what}; expected one of {}", .allowed.join(", "))]
pub struct UnknownValue {
    /// The kind of name expected, with its article.
    pub what: &'static str,
    /// The text given.
    pub value: String,
    /// The names allowed.
    pub allowed: Vec<&'static str>,
}

/// Declares enumerations with a name for each value, in whatever case it is written.
macro_rules! named {
    ($($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$value_doc])* #[serde(rename = $text)] $value,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$value),*];

            /// Returns the name of the value.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::named::UnknownValue;

            fn from_str(text: &str) -> Result<$name, Self::Err> {
                let named = $name::ALL.iter().find(|value| value.name().eq_ignore_ascii_case(text));
                named.copied().ok_or_else(|| $crate::named::UnknownValue {
                    what: $what,
                    value: text.to_owned(),
                    allowed: $name::ALL.iter().map(|value| value.name()).collect(),
                })
            }
        }
    )+};
}

pub(crate) use named;
