//! What pgbench 15.18 printed for the same expressions with `debug()`.

use super::*;
use crate::variables::Names;
use proptest::prelude::*;

fn evaluated(text: &str) -> Result<Value, String> {
    let mut names = Names::default();
    let expression = parse(text, &mut names, &mut Vec::new()).map_err(|mistake| mistake.what)?;
    let mut variables = Variables::new(&names);
    variables.set(names.slot("default_seed"), Value::Int(5432));
    let value = expression.evaluate(&variables, &mut Prng::new(1));
    value.map_err(|error| error.to_string())
}

#[test]
fn values_are_those_of_pgbench() {
    use Value::{Bool, Double, Int, Null};
    for (text, wanted) in [
        ("-7 / 2", Int(-3)),
        ("7 / -2", Int(-3)),
        ("-7 % 3", Int(-1)),
        ("-7.5 % 3", Int(-2)),
        ("7.5 / 2", Double(3.75)),
        ("mod(-7, 3)", Int(-1)),
        ("mod(7.6, 3)", Int(2)),
        ("1 << 3 + 1", Int(16)),
        ("2 * 3 - 4 % 3 # 5", Int(0)),
        ("1 | 2 & 3", Int(3)),
        ("5 & 6 # 1 << 2", Int(20)),
        ("~ 5 + 1", Int(-7)),
        ("- 2 * 3", Int(-6)),
        ("int(2.5)", Int(2)),
        ("int(3.5)", Int(4)),
        ("int(-2.5)", Int(-2)),
        ("least(1, 2.5, -3)", Double(-3.0)),
        ("greatest(1, 2.5, -3)", Double(2.5)),
        ("greatest(1, 2)", Int(2)),
        ("pow(2, 10)", Double(1024.0)),
        ("pow(2, -1)", Double(0.5)),
        ("pow(0, 0)", Double(1.0)),
        ("sqrt(4) = 2", Bool(true)),
        ("not true and false or true", Bool(true)),
        ("not 1 = 2", Bool(true)),
        ("1 = 1.0", Bool(true)),
        ("0.7 = 7e-1", Bool(true)),
        (".5 + 1.", Double(1.5)),
        ("null = 1", Null),
        ("null is null", Bool(true)),
        ("1 isnull", Bool(false)),
        ("1 isnull isnull", Bool(false)),
        ("3 is not null", Bool(true)),
        ("true is true is true", Bool(true)),
        ("1 + 2 is null", Bool(false)),
        ("1 < 2 is true", Bool(true)),
        ("null and false", Null),
        ("false and null", Bool(false)),
        ("true or null", Bool(true)),
        ("case when 1 > 2 then 1 when null then 2 else 3 end", Int(3)),
        ("case when false then 1 end", Null),
        ("-9223372036854775808", Int(i64::MIN)),
        ("1 <> 2", Bool(true)),
        ("1 != 2", Bool(true)),
        ("double(5)", Double(5.0)),
        ("pi()", Double(std::f64::consts::PI)),
        ("abs(-5)", Int(5)),
        ("abs(-5.5)", Double(5.5)),
        ("HASH(10)", Int(-5_817_877_081_768_721_676)),
        ("permute(3, 1000, 42)", Int(333)),
    ] {
        assert_eq!(evaluated(text), Ok(wanted), "{text}");
    }
}

#[test]
fn what_has_no_value_says_why() {
    for (text, words) in [
        ("1 = 1 = 1", "unexpected `=`"),
        ("true = true", "cannot use a boolean"),
        ("1 and true", "cannot use a whole number as a boolean"),
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("9223372036854775807 + 1", "add out of range"),
        ("-9223372036854775808 / -1", "div out of range"),
        ("9223372036854775808", "out of range"),
        ("int(1e300)", "out of range"),
        ("1e999", "out of range"),
        ("random(5, 1)", "from 5 to 1 is empty"),
        ("random_zipfian(1, 10, 1.0)", "from 1.001 to 1000, not 1"),
        ("foo(1)", "unknown function `foo`"),
        ("abs(1, 2)", "takes one argument, not 2"),
        ("least()", "at least 1 argument, not 0"),
        ("permute(1, 0, 1)", "size above 0"),
        ("(1 + 2", "expected `)` before the end of the line"),
        ("case 1 end", "expected `when`"),
        (":nope + 1", "before it has a value"),
        ("1 $ 2", "unexpected character `$`"),
        ("", "the expression ends too early"),
        ("1 +", "the expression ends too early"),
    ] {
        let said = evaluated(text).unwrap_err();
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_misspelt_function_is_named_with_the_nearest() {
    let mistake = parse("randon(1, 2)", &mut Names::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(mistake.nearest.as_deref(), Some("random"));
}

#[test]
fn nesting_without_end_is_refused() {
    for open in ["(", "not ", "- ", "~", "1 + (", "1 + ", "case when "] {
        assert!(evaluated(&open.repeat(100_000)).is_err());
    }
}

/// Sums, products and draws of small and large numbers and of a variable.
fn arithmetic() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-20..20_i64).prop_map(|number| format!("({number})")),
        Just("9223372036854775807".to_owned()),
        Just(":default_seed".to_owned()),
        Just("2.5".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let signs = prop_oneof![Just("+"), Just("-"), Just("*"), Just("/")];
        prop_oneof![
            (inner.clone(), signs, inner.clone())
                .prop_map(|(left, sign, right)| format!("({left} {sign} {right})")),
            (inner.clone(), inner).prop_map(|(min, max)| format!("random({min}, {max})")),
        ]
    })
}

proptest! {
    #[test]
    fn the_short_way_over_whole_numbers_computes_the_same(text in arithmetic(), variable: i64) {
        let mut names = Names::default();
        let expression = parse(&text, &mut names, &mut Vec::new()).unwrap();
        let mut variables = Variables::new(&names);
        variables.set(names.slot("default_seed"), Value::Int(variable));
        let (mut short, mut long) = (Prng::new(1), Prng::new(1));
        let wanted = expression.node.value(&variables, &mut long);
        prop_assert_eq!(expression.evaluate(&variables, &mut short), wanted);
        prop_assert_eq!(short, long);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+*/%<>=&|#~(),:a-z0-9. e]{0,60}|\\PC{0,40}") {
        let _ = evaluated(&text);
    }
}
