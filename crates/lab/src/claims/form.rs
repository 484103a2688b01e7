//! The form of a claim: which predicate it states, and over what.

use super::{Best, Claim, Devices, Extreme, Listed, Pair, Pairs, Single};

/// The forms of claims: the operands of each and the key under which it stands in a file.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident($operands:ident) = $key:ident;)*) => {
        /// The form of a claim, once it is known to have exactly one.
        #[derive(Clone, Copy, Debug)]
        pub enum Form<'a> {
            $($(#[$doc])* $form(&'a $operands),)*
        }

        impl<'a> Form<'a> {
            /// The keys of all forms.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            /// The key under which this form stands in a file.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Form::$form(_) => stringify!($key),)*
                }
            }

            /// The metric named by the claim itself.
            pub fn metric(&self) -> Option<&'a str> {
                match self {
                    $(Form::$form(operands) => operands.metric.as_deref(),)*
                }
            }
        }

        impl Claim {
            /// Every form that the file gives; a valid claim has one.
            pub fn forms(&self) -> Vec<Form<'_>> {
                let given = [$(self.$key.as_ref().map(Form::$form)),*];
                given.into_iter().flatten().collect()
            }
        }
    };
}

forms! {
    /// A ratio within bounds.
    Ratio(Pair) = ratio;
    /// A ratio of two ratios within bounds.
    RatioOfRatios(Pairs) = ratio_of_ratios;
    /// A figure within bounds.
    Value(Single) = value;
    /// A ratio near one.
    Equal(Pair) = equal;
    /// A sequence that does not grow.
    Ordering(Listed) = ordering;
    /// Largest over smallest, less one, within bounds.
    Spread(Listed) = spread;
    /// Where the largest value is.
    Argmax(Extreme) = argmax;
    /// Where the smallest value is.
    Argmin(Extreme) = argmin;
    /// What the best variants have in common.
    Best(Best) = best;
    /// A ratio of two devices within bounds.
    Devices(Devices) = devices;
    /// The order of variants on two devices.
    SameOrder(Devices) = same_order;
}

impl<'a> Form<'a> {
    /// The other metric of a claim that compares two figures of the same trials.
    pub fn to_metric(&self) -> Option<&'a str> {
        match self {
            Form::Ratio(pair) | Form::Equal(pair) => pair.to_metric.as_deref(),
            Form::RatioOfRatios(pairs) => pairs.to_metric.as_deref(),
            _ => None,
        }
    }

    /// Whether the claim states its bounds as `at_least`, `at_most` or `between`.
    pub fn states_bounds(&self) -> bool {
        !self.takes_tolerance() && !matches!(self, Form::Equal(_) | Form::Best(_))
    }

    /// Whether the claim may state what counts as equal as `tolerance`.
    pub fn takes_tolerance(&self) -> bool {
        use Form::{Argmax, Argmin, Ordering, SameOrder};
        matches!(self, Ordering(_) | Argmax(_) | Argmin(_) | SameOrder(_))
    }
}
