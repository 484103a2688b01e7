//! From text to an expression, by precedence climbing with pgbench's precedences.

use crate::error::Mistake;
use crate::expression::function::{Function, NAMED};
use crate::expression::{Expression, Node};
use crate::variables::{Names, Slot, Value};

/// Brackets, prefixes and operators within one another at most; each takes some stack.
const DEEPEST: usize = 200;

/// Parts of an expression at most: a long sum is as deep as it has terms.
const MOST_TOKENS: usize = 1_000;

/// Precedences, the weakest first.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

/// Operators of two values, with their precedence.
const OPERATORS: [(&str, u8, Function); 16] = [
    ("<", COMPARISON, Function::Less),
    ("<=", COMPARISON, Function::LessOrEqual),
    (">", COMPARISON, Function::Less),
    (">=", COMPARISON, Function::LessOrEqual),
    ("=", COMPARISON, Function::Equal),
    ("<>", COMPARISON, Function::NotEqual),
    ("!=", COMPARISON, Function::NotEqual),
    ("&", BITS, Function::BitAnd),
    ("|", BITS, Function::BitOr),
    ("#", BITS, Function::BitXor),
    ("<<", BITS, Function::ShiftLeft),
    (">>", BITS, Function::ShiftRight),
    ("+", SUM, Function::Add),
    ("-", SUM, Function::Subtract),
    ("*", PRODUCT, Function::Multiply),
    ("/", PRODUCT, Function::Divide),
];

/// Reads an expression; `used` gets each variable in it.
pub(crate) fn parse(
    text: &str,
    names: &mut Names,
    used: &mut Vec<Slot>,
) -> Result<Expression, Mistake> {
    let tokens = tokens(text)?;
    if tokens.len() > MOST_TOKENS {
        return Err(Mistake::new("the expression is too long"));
    }
    let mut parser = Parser { tokens: &tokens, names, used, depth: 0 };
    let node = parser.expression(OR)?;
    match parser.tokens.first() {
        None => Ok(Expression::of(node)),
        Some(token) => Err(unexpected(Some(token))),
    }
}

struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    names: &'t mut Names,
    used: &'t mut Vec<Slot>,
    depth: usize,
}

impl<'a> Parser<'_, 'a> {
    /// Returns an expression of operators that bind at least this strongly.
    fn expression(&mut self, least: u8) -> Result<Node, Mistake> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Mistake::new("the expression is nested too deeply"));
        }
        let mut left = self.operand()?;
        let mut strongest = SIGN;
        while let Some((precedence, operator)) = self.operator(least, strongest) {
            left = match operator {
                Operator::Is => self.is(left)?,
                Operator::And => Node::And(Box::new([left, self.expression(AND + 1)?])),
                Operator::Or => Node::Or(Box::new([left, self.expression(OR + 1)?])),
                Operator::Call(function, swapped) => {
                    let right = self.expression(precedence + 1)?;
                    let both = if swapped { [right, left] } else { [left, right] };
                    Node::Call(function, Box::new(both))
                }
            };
            // Comparisons do not chain: `1 < 2 < 3` is a mistake.
            strongest = if precedence == COMPARISON { IS } else { SIGN };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Takes the next operator where it binds strongly enough.
    fn operator(&mut self, least: u8, strongest: u8) -> Option<(u8, Operator)> {
        let (precedence, operator) = match self.tokens.first()? {
            Token::Sign("%") => (PRODUCT, Operator::Call(Function::Modulo, false)),
            Token::Sign(sign) => {
                let (_, precedence, function) =
                    OPERATORS.iter().find(|(known, ..)| known == sign)?;
                (*precedence, Operator::Call(*function, sign.starts_with('>') && *sign != ">>"))
            }
            Token::Word(word) if is(word, "and") => (AND, Operator::And),
            Token::Word(word) if is(word, "or") => (OR, Operator::Or),
            Token::Word(word)
                if ["is", "isnull", "notnull"].iter().any(|operator| is(word, operator)) =>
            {
                return ((least..=strongest).contains(&IS)).then_some((IS, Operator::Is));
            }
            _ => return None,
        };
        if !(least..=strongest).contains(&precedence) {
            return None;
        }
        self.tokens = &self.tokens[1..];
        Some((precedence, operator))
    }

    /// `IS [NOT] NULL|TRUE|FALSE`, `ISNULL`, `NOTNULL`.
    fn is(&mut self, left: Node) -> Result<Node, Mistake> {
        let negated;
        let mut wanted = Value::Null;
        if self.word("isnull") {
            negated = false;
        } else if self.word("notnull") {
            negated = true;
        } else {
            self.expect_word("is")?;
            negated = self.word("not");
            wanted = self.literal().ok_or_else(|| unexpected(self.tokens.first()))?;
        }
        let is = Node::Call(Function::Is, Box::new([left, Node::Constant(wanted)]));
        Ok(if negated { Node::Call(Function::Not, Box::new([is])) } else { is })
    }

    /// NULL, TRUE or FALSE.
    fn literal(&mut self) -> Option<Value> {
        let literals =
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        literals.into_iter().find(|(word, _)| self.word(word)).map(|(_, value)| value)
    }

    fn operand(&mut self) -> Result<Node, Mistake> {
        if self.sign("(") {
            let inner = self.expression(OR)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        if self.sign("+") {
            return self.expression(SIGN);
        }
        if self.sign("-") {
            return self.negative();
        }
        if self.sign("~") {
            let inner = self.expression(BITS + 1)?;
            let ones = Node::Constant(Value::Int(-1));
            return Ok(Node::Call(Function::BitXor, Box::new([ones, inner])));
        }
        if self.word("not") {
            return Ok(Node::Call(Function::Not, Box::new([self.expression(NOT)?])));
        }
        if self.word("case") {
            return self.case();
        }
        if let Some(value) = self.literal() {
            return Ok(Node::Constant(value));
        }
        self.atom()
    }

    /// Parses the operand of a minus sign; the smallest whole number has no positive counterpart.
    fn negative(&mut self) -> Result<Node, Mistake> {
        const SMALLEST: u64 = 1 << 63;
        if self.tokens.first() == Some(&Token::Whole(SMALLEST)) {
            self.tokens = &self.tokens[1..];
            return Ok(Node::Constant(Value::Int(i64::MIN)));
        }
        let zero = Node::Constant(Value::Int(0));
        let inner = self.expression(SIGN)?;
        Ok(Node::Call(Function::Subtract, Box::new([zero, inner])))
    }

    fn case(&mut self) -> Result<Node, Mistake> {
        let mut cases = Vec::new();
        while self.word("when") {
            let condition = self.expression(OR)?;
            self.expect_word("then")?;
            cases.push((condition, self.expression(OR)?));
        }
        let otherwise =
            if self.word("else") { self.expression(OR)? } else { Node::Constant(Value::Null) };
        if cases.is_empty() {
            self.expect_word("when")?
        } else {
            self.expect_word("end")?
        }
        Ok(Node::Case(cases.into(), Box::new(otherwise)))
    }

    /// Returns a number, a variable or the call of a function.
    fn atom(&mut self) -> Result<Node, Mistake> {
        let token = self.tokens.first();
        let node = match token {
            Some(Token::Whole(number)) => {
                let number = i64::try_from(*number);
                let out_of_range = |_| Mistake::new("the whole number is out of range");
                Node::Constant(Value::Int(number.map_err(out_of_range)?))
            }
            Some(Token::Number(number)) => Node::Constant(Value::Double(*number)),
            Some(Token::Variable(name)) => self.variable(name),
            Some(Token::Word(name)) => {
                self.tokens = &self.tokens[1..];
                return self.call(name);
            }
            other => return Err(unexpected(other)),
        };
        self.tokens = &self.tokens[1..];
        Ok(node)
    }

    fn variable(&mut self, name: &str) -> Node {
        let slot = self.names.slot(name);
        self.used.push(slot);
        Node::Variable(slot)
    }

    fn call(&mut self, name: &str) -> Result<Node, Mistake> {
        let known = NAMED.iter().find(|(known, ..)| is(name, known));
        let Some((_, function, least, most)) = known else {
            let names = NAMED.iter().map(|(name, ..)| *name);
            return Err(Mistake::unknown(format!("unknown function `{name}`"), name, names));
        };
        self.expect_sign("(")?;
        let mut arguments = Vec::new();
        while !self.sign(")") {
            if !arguments.is_empty() {
                self.expect_sign(",")?;
            }
            arguments.push(self.expression(OR)?);
        }
        if !(*least..=*most).contains(&arguments.len()) {
            let (found, wanted) = (arguments.len(), number_of(*least, *most));
            return Err(Mistake::new(format!("{name}() takes {wanted}, not {found}")));
        }
        if function.takes_seed() && arguments.len() < *most {
            arguments.push(self.variable("default_seed"));
        }
        Ok(Node::Call(*function, arguments.into()))
    }

    /// Takes this sign where it comes next.
    fn sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.sign(sign) { Ok(()) } else { Err(expected(sign, self.tokens.first())) }
    }

    /// Takes this keyword where it comes next.
    fn word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Word(next)) if is(next, word));
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Mistake> {
        if self.word(word) { Ok(()) } else { Err(expected(word, self.tokens.first())) }
    }
}

enum Operator {
    Is,
    And,
    Or,
    /// A function of the left and the right side, or the other way around.
    Call(Function, bool),
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

fn number_of(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => "one argument".to_owned(),
        (least, usize::MAX) => format!("at least {least} argument"),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} or {most} arguments"),
    }
}

fn text(token: Option<&Token<'_>>) -> String {
    match token {
        None => "the end of the line".to_owned(),
        Some(Token::Whole(number)) => format!("`{number}`"),
        Some(Token::Number(number)) => format!("`{number}`"),
        Some(Token::Variable(name)) => format!("`:{name}`"),
        Some(Token::Word(word)) => format!("`{word}`"),
        Some(Token::Sign(sign)) => format!("`{sign}`"),
    }
}

fn unexpected(found: Option<&Token<'_>>) -> Mistake {
    Mistake::new(match found {
        None => "the expression ends too early".to_owned(),
        found => format!("unexpected {}", text(found)),
    })
}

fn expected(wanted: &str, found: Option<&Token<'_>>) -> Mistake {
    Mistake::new(format!("expected `{wanted}` before {}", text(found)))
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A whole number without a sign.
    Whole(u64),
    /// A number with a fraction or an exponent.
    Number(f64),
    /// A variable, without its colon.
    Variable(&'a str),
    /// A keyword or the name of a function.
    Word(&'a str),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// The signs, longer ones first.
const SIGNS: [&str; 21] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "=", "&", "|", "#", "~",
    "(", ")", ",",
];

/// Returns whether a byte may be in a name; all beyond ASCII may.
pub(crate) fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the parts of an expression, in their order.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Mistake> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let (token, length) = token(rest)?;
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn token(rest: &str) -> Result<(Token<'_>, usize), Mistake> {
    let bytes = rest.as_bytes();
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    if bytes[0].is_ascii_digit() || (bytes[0] == b'.' && digits(&bytes[1..]) > 0) {
        return number(rest);
    }
    let name = |bytes: &[u8]| bytes.iter().take_while(|byte| is_in_name(**byte)).count();
    match bytes[0] {
        b':' if name(&bytes[1..]) > 0 => {
            let length = 1 + name(&bytes[1..]);
            Ok((Token::Variable(&rest[1..length]), length))
        }
        byte if is_in_name(byte) => {
            let length = name(bytes);
            Ok((Token::Word(&rest[..length]), length))
        }
        _ => {
            let found = rest.chars().next().unwrap_or_default();
            Err(Mistake::new(format!("unexpected character `{found}`")))
        }
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(rest: &str) -> Result<(Token<'_>, usize), Mistake> {
    let bytes = rest.as_bytes();
    let whole = digits(bytes);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(&bytes[length + 1..]);
    }
    length += exponent(&bytes[length..]);
    let text = &rest[..length];
    let out_of_range = || Mistake::new(format!("the number {text} is out of range"));
    let token = if length == whole {
        Token::Whole(text.parse().map_err(|_| out_of_range())?)
    } else {
        let number: f64 = text.parse().map_err(|_| out_of_range())?;
        Token::Number(Some(number).filter(|number| number.is_finite()).ok_or_else(out_of_range)?)
    };
    Ok((token, length))
}

/// Returns the length of an exponent, 0 without one.
fn exponent(bytes: &[u8]) -> usize {
    if !matches!(bytes.first(), Some(b'e' | b'E')) {
        return 0;
    }
    let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    match digits(&bytes[1 + sign..]) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}
