//! A small expression language for templates and judged conditions: numbers, truths (1 and 0), paths, calls.
//! Pure: it reads no clock, file or state; every path and every function outside [`FUNCTIONS`] is answered by the
//! caller. Precedence, loosest first: `c ? a : b`, `or`, `and`, `not`, comparison, `+ -`, `* / %`, sign, `^`.
//! A `-` between two name characters belongs to the name (`scout-3.x`); to subtract, write spaces (`i - 1`).

use crate::math;
use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// A function every expression knows.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arguments: (usize, usize),
    /// Its value.
    pub value: fn(&[f64]) -> f64,
}

/// Every built-in function. The number of arguments is checked while parsing, so `value` may index them.
pub const FUNCTIONS: &[Function] = &[
    Function { name: "abs", arguments: (1, 1), value: |x| x[0].abs() },
    Function { name: "min", arguments: (1, usize::MAX), value: |x| x.iter().copied().fold(f64::INFINITY, f64::min) },
    Function { name: "max", arguments: (1, usize::MAX), value: |x| x.iter().copied().fold(-f64::INFINITY, f64::max) },
    Function { name: "sqrt", arguments: (1, 1), value: |x| x[0].sqrt() },
    Function { name: "sin", arguments: (1, 1), value: |x| math::sin(x[0]) },
    Function { name: "cos", arguments: (1, 1), value: |x| math::cos(x[0]) },
    Function { name: "atan2", arguments: (2, 2), value: |x| math::atan2(x[0], x[1]) },
    Function { name: "hypot", arguments: (2, 2), value: |x| math::hypot2(x[0], x[1]) },
    Function { name: "floor", arguments: (1, 1), value: |x| x[0].floor() },
    Function { name: "ceil", arguments: (1, 1), value: |x| x[0].ceil() },
    Function { name: "round", arguments: (1, 1), value: |x| x[0].round() },
    // Not f64::clamp: that panics when the bounds are the wrong way round.
    Function { name: "clamp", arguments: (3, 3), value: |x| x[0].max(x[1]).min(x[2]) },
    Function { name: POWER, arguments: (2, 2), value: |x| power(x[0], x[1]) },
];

/// Whole powers by multiplication, so that they are exact where they can be and defined for negative bases.
fn power(base: f64, exponent: f64) -> f64 {
    const WHOLE_MAX: f64 = 1024.0;
    if exponent != math::floor(exponent) || exponent.abs() > WHOLE_MAX {
        return math::pow(base, exponent);
    }
    let mut left = exponent.abs() as u32;
    let (mut square, mut product) = (base, 1.0);
    while left > 0 {
        product *= if left & 1 == 1 { square } else { 1.0 };
        square *= square;
        left >>= 1;
    }
    if exponent < 0.0 { 1.0 / product } else { product }
}

/// The operator `^`, kept in the table of functions so that all inexact mathematics stands there.
const POWER: &str = "^";

/// Nested parentheses, signs, powers and conditionals allowed.
const DEPTH_MAX: usize = 64;

/// A parsed expression and its source text.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    source: String,
    tree: Tree,
}

/// An argument handed to a function that the caller answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// A bare path, not looked up: `scout0` in `distance(scout0, scout1)`.
    Path(&'a str),
    /// The value of anything else.
    Value(f64),
}

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// Column in the text, in characters from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What should stand there.
    pub expected: String,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalError {
    /// The caller knows no value for this path.
    Variable(String),
    /// The caller knows no such function, or not with these arguments.
    Call(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Number(f64),
    Truth(bool),
    Path(String),
    Call(String, Vec<Tree>),
    Negative(Box<Tree>),
    Not(Box<Tree>),
    /// Operators of one precedence from left to right. One flat list, so that a long sum is not a deep tree.
    Chain(Box<Tree>, Vec<(Operator, Tree)>),
    /// Condition, value when true, value when false.
    Choice(Box<[Tree; 3]>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Or,
    And,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    Unequal,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The left-to-right operators by how tightly they bind; level 2 (comparisons) takes one operator only.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or), ("or", Operator::Or)],
    &[("&&", Operator::And), ("and", Operator::And)],
    &[
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];
const COMPARISON: usize = 2;

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, text };
        let tree = parser.choice()?;
        match parser.peek().kind {
            Kind::End => Ok(Self { source: text.to_owned(), tree }),
            _ => Err(parser.unexpected("an operator or the end")),
        }
    }

    /// Every path in it, also those that are arguments of calls; sorted, each once.
    pub fn variables(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.tree.visit(&mut |tree| {
            if let Tree::Path(path) = tree {
                found.push(path.as_str());
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The functions it calls that are not in [`FUNCTIONS`]; sorted, each once.
    pub fn functions(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.tree.visit(&mut |tree| match tree {
            Tree::Call(name, _) if function(name).is_none() => found.push(name.as_str()),
            _ => (),
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The path, if the expression is nothing but one.
    pub fn as_path(&self) -> Option<&str> {
        match &self.tree {
            Tree::Path(path) => Some(path),
            _ => None,
        }
    }

    /// True when the value is a truth rather than a number: a comparison, `and`, `or`, `not`, `true`, `false`, or a
    /// choice between such.
    pub fn is_truth(&self) -> bool {
        self.tree.is_truth()
    }

    /// The value; truths are 1 and 0. `lookup` gives the value of a path, `call` that of a function not in
    /// [`FUNCTIONS`]. Operands that cannot matter (`false and x`, the branch not taken) are not looked up.
    pub fn eval(
        &self,
        lookup: &mut dyn FnMut(&str) -> Option<f64>,
        call: &mut dyn FnMut(&str, &[Argument<'_>]) -> Option<f64>,
    ) -> Result<f64, EvalError> {
        self.tree.eval(&mut Caller { lookup, call })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: found {}, expected {}", self.column, self.found, self.expected)
    }
}

impl std::error::Error for ExpressionError {}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(path) if path.contains('-') => {
                write!(f, "{path:?} has no value (to subtract, write spaces around the minus)")
            }
            Self::Variable(path) => write!(f, "{path:?} has no value"),
            Self::Call(name) => write!(f, "{name}(…) has no value"),
        }
    }
}

impl std::error::Error for EvalError {}

/// The caller's answers.
struct Caller<'a> {
    lookup: &'a mut dyn FnMut(&str) -> Option<f64>,
    call: &'a mut dyn FnMut(&str, &[Argument<'_>]) -> Option<f64>,
}

impl Tree {
    fn eval(&self, caller: &mut Caller<'_>) -> Result<f64, EvalError> {
        match self {
            Self::Number(value) => Ok(*value),
            Self::Truth(value) => Ok(number(*value)),
            Self::Path(path) => (caller.lookup)(path).ok_or_else(|| EvalError::Variable(path.clone())),
            Self::Call(name, arguments) => match function(name) {
                Some(function) => call_inside(function, arguments, caller),
                None => call_outside(name, arguments, caller),
            },
            Self::Negative(tree) => Ok(-tree.eval(caller)?),
            Self::Not(tree) => Ok(number(!truth(tree.eval(caller)?))),
            Self::Chain(first, rest) => {
                rest.iter().try_fold(first.eval(caller)?, |left, (operator, right)| operator.eval(left, right, caller))
            }
            Self::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                if truth(condition.eval(caller)?) { yes.eval(caller) } else { no.eval(caller) }
            }
        }
    }

    fn is_truth(&self) -> bool {
        match self {
            Self::Truth(_) | Self::Not(_) => true,
            Self::Chain(_, rest) => rest.iter().any(|(operator, _)| *operator as u8 <= Operator::Unequal as u8),
            Self::Choice(parts) => parts[1].is_truth() && parts[2].is_truth(),
            Self::Number(_) | Self::Path(_) | Self::Call(..) | Self::Negative(_) => false,
        }
    }

    fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        see(self);
        match self {
            Self::Number(_) | Self::Truth(_) | Self::Path(_) => (),
            Self::Call(_, trees) => trees.iter().for_each(|tree| tree.visit(see)),
            Self::Negative(tree) | Self::Not(tree) => tree.visit(see),
            Self::Chain(first, rest) => {
                first.visit(see);
                rest.iter().for_each(|(_, tree)| tree.visit(see));
            }
            Self::Choice(parts) => parts.iter().for_each(|tree| tree.visit(see)),
        }
    }
}

impl Operator {
    fn eval(self, left: f64, right: &Tree, caller: &mut Caller<'_>) -> Result<f64, EvalError> {
        // An operand that cannot change the truth is not looked up.
        match self {
            Self::Or if truth(left) => return Ok(1.0),
            Self::And if !truth(left) => return Ok(0.0),
            _ => (),
        }
        let right = right.eval(caller)?;
        Ok(match self {
            Self::Or | Self::And => number(truth(right)),
            Self::Less => number(left < right),
            Self::LessEqual => number(left <= right),
            Self::Greater => number(left > right),
            Self::GreaterEqual => number(left >= right),
            Self::Equal => number(left == right),
            Self::Unequal => number(left != right),
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Remainder => left % right,
        })
    }
}

/// Calls with few arguments allocate nothing, as expressions may be computed for every sample.
fn call_inside(function: &Function, arguments: &[Tree], caller: &mut Caller<'_>) -> Result<f64, EvalError> {
    const FEW: usize = 4;
    if arguments.len() > FEW {
        let values: Result<Vec<f64>, EvalError> = arguments.iter().map(|tree| tree.eval(caller)).collect();
        return Ok((function.value)(&values?));
    }
    let mut values = [0.0; FEW];
    for (value, tree) in values.iter_mut().zip(arguments) {
        *value = tree.eval(caller)?;
    }
    Ok((function.value)(&values[..arguments.len()]))
}

fn call_outside(name: &str, arguments: &[Tree], caller: &mut Caller<'_>) -> Result<f64, EvalError> {
    let mut values = Vec::with_capacity(arguments.len());
    for tree in arguments {
        values.push(match tree {
            Tree::Path(path) => Argument::Path(path),
            _ => Argument::Value(tree.eval(caller)?),
        });
    }
    (caller.call)(name, &values).ok_or_else(|| EvalError::Call(name.to_owned()))
}

fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

fn number(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

/// Neither 0 nor NaN: a condition on a missing measurement does not hold.
fn truth(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number(f64),
    /// A path, or one of the words `and`, `or`, `not`, `true`, `false`, `pi`.
    Word(String),
    Symbol(&'static str),
    End,
}

#[derive(Debug, Clone)]
struct Token {
    kind: Kind,
    /// Byte range in the text.
    from: usize,
    to: usize,
}

/// Longer symbols first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 20] =
    ["<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "^", "(", ")", ",", "?", ":"];

const WORDS: [&str; 3] = ["and", "or", "not"];

fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut list = Vec::new();
    let mut from = 0;
    loop {
        from += text[from..].len() - text[from..].trim_start().len();
        let rest = &text[from..];
        let Some(first) = rest.chars().next() else { break };
        let (kind, length) = if first.is_ascii_digit() || first == '.' {
            number_token(text, from)?
        } else if first.is_alphabetic() || first == '_' {
            let length = path_length(text, from)?;
            (Kind::Word(rest[..length].to_owned()), length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Kind::Symbol(symbol), symbol.len())
        } else {
            return Err(error(text, from, from + first.len_utf8(), "a number, a name or an operator"));
        };
        list.push(Token { kind, from, to: from + length });
        from += length;
    }
    list.push(Token { kind: Kind::End, from: text.len(), to: text.len() });
    Ok(list)
}

fn number_token(text: &str, from: usize) -> Result<(Kind, usize), ExpressionError> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut to = digits(from);
    if bytes.get(to) == Some(&b'.') {
        to = digits(to + 1);
    }
    if matches!(bytes.get(to), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(to + 1), Some(b'+' | b'-')));
        let end = digits(to + 1 + sign);
        // `2e` is the number 2 followed by a name, which the parser then refuses.
        to = if end > to + 1 + sign { end } else { to };
    }
    match text[from..to].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Kind::Number(value), to - from)),
        _ => Err(error(text, from, to, "a number")),
    }
}

/// Bytes of the path that starts here: name characters, and `.`, `-` or `[n]` where a name can go on after them.
fn path_length(text: &str, from: usize) -> Result<usize, ExpressionError> {
    let mut characters = text[from..].char_indices().peekable();
    while let Some(&(at, character)) = characters.peek() {
        match character {
            '[' => index(text, from + at, &mut characters)?,
            '.' | '-' if text[from + at + 1..].starts_with(is_name) => {
                characters.next();
            }
            _ if is_name(character) => {
                characters.next();
            }
            _ => return Ok(at),
        }
    }
    Ok(text.len() - from)
}

/// Passes over `[n]`, which starts at the byte `from`.
fn index(text: &str, from: usize, characters: &mut Peekable<CharIndices<'_>>) -> Result<(), ExpressionError> {
    characters.next();
    let mut digits = 0;
    while characters.next_if(|(_, character)| character.is_ascii_digit()).is_some() {
        digits += 1;
    }
    match characters.next_if(|&(_, character)| character == ']') {
        Some(_) if digits > 0 => Ok(()),
        _ => Err(error(text, from, from + 1 + digits, "an index such as [2]")),
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn error(text: &str, from: usize, to: usize, expected: impl Into<String>) -> ExpressionError {
    let found = &text[from..to];
    ExpressionError {
        column: text[..from].chars().count() + 1,
        found: if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") },
        expected: expected.into(),
    }
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    text: &'a str,
}

type Parsed = Result<Tree, ExpressionError>;

impl Parser<'_> {
    /// The token that comes next; the last one is `End` and is never passed.
    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn unexpected(&self, expected: &str) -> ExpressionError {
        let token = self.peek();
        error(self.text, token.from, token.to, expected)
    }

    /// Passes over this symbol or word if it comes next.
    fn eat(&mut self, wanted: &str) -> bool {
        let found = match &self.peek().kind {
            Kind::Symbol(symbol) => *symbol == wanted,
            Kind::Word(word) => word == wanted,
            Kind::Number(_) | Kind::End => false,
        };
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ExpressionError> {
        if self.eat(wanted) { Ok(()) } else { Err(self.unexpected(&format!("an operator or {wanted:?}"))) }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Parsed) -> Parsed {
        if self.depth == DEPTH_MAX {
            return Err(self.unexpected(&format!("at most {DEPTH_MAX} levels of nesting")));
        }
        self.depth += 1;
        let tree = inner(self)?;
        self.depth -= 1;
        Ok(tree)
    }

    fn choice(&mut self) -> Parsed {
        let condition = self.chain(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::choice)?;
        self.expect(":")?;
        let no = self.nested(Self::choice)?;
        Ok(Tree::Choice(Box::new([condition, yes, no])))
    }

    fn chain(&mut self, level: usize) -> Parsed {
        if level == COMPARISON && (self.eat("!") || self.eat("not")) {
            // `not` binds looser than a comparison: `not a < b` is `not (a < b)`.
            return Ok(Tree::Not(Box::new(self.nested(|parser| parser.chain(COMPARISON))?)));
        }
        let first = self.operand(level)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(level) {
            rest.push((operator, self.operand(level)?));
            if level == COMPARISON && self.operator(level).is_some() {
                self.at -= 1;
                return Err(self.unexpected("one comparison (join two with \"and\")"));
            }
        }
        Ok(if rest.is_empty() { first } else { Tree::Chain(Box::new(first), rest) })
    }

    fn operand(&mut self, level: usize) -> Parsed {
        if level + 1 < LEVELS.len() { self.chain(level + 1) } else { self.signed() }
    }

    fn operator(&mut self, level: usize) -> Option<Operator> {
        LEVELS[level].iter().find(|(symbol, _)| self.eat(symbol)).map(|&(_, operator)| operator)
    }

    fn signed(&mut self) -> Parsed {
        if self.eat("-") {
            return Ok(Tree::Negative(Box::new(self.nested(Self::signed)?)));
        }
        if self.eat("+") {
            return self.nested(Self::signed);
        }
        let base = self.atom()?;
        if !self.eat(POWER) {
            return Ok(base);
        }
        // The exponent may have a sign, and powers group from the right: 2^-3^2 is 2^(-(3^2)).
        Ok(Tree::Call(POWER.to_owned(), vec![base, self.nested(Self::signed)?]))
    }

    fn atom(&mut self) -> Parsed {
        if self.eat("(") {
            let tree = self.nested(Self::choice)?;
            self.expect(")")?;
            return Ok(tree);
        }
        if matches!(self.peek().kind, Kind::Symbol("!")) {
            // `!` directly before an operand binds tightly: `a + !b`.
            self.at += 1;
            return Ok(Tree::Not(Box::new(self.nested(Self::atom)?)));
        }
        let tree = match &self.peek().kind {
            Kind::Number(value) => Tree::Number(*value),
            Kind::Word(word) if WORDS.contains(&word.as_str()) => return Err(self.unexpected("a value")),
            Kind::Word(word) => named(word),
            Kind::Symbol(_) | Kind::End => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        match tree {
            Tree::Path(name) if matches!(self.peek().kind, Kind::Symbol("(")) => self.call(name),
            tree => Ok(tree),
        }
    }

    /// The arguments of a call, from its parenthesis on.
    fn call(&mut self, name: String) -> Parsed {
        let start = self.at;
        self.at += 1;
        let mut arguments = Vec::new();
        while !self.eat(")") {
            if !arguments.is_empty() && !self.eat(",") {
                return Err(self.unexpected("an operator, \",\" or \")\""));
            }
            arguments.push(self.nested(Self::choice)?);
        }
        let (least, most) = function(&name).map_or((0, usize::MAX), |function| function.arguments);
        if (least..=most).contains(&arguments.len()) {
            return Ok(Tree::Call(name, arguments));
        }
        let (from, to) = (self.tokens[start - 1].from, self.tokens[self.at - 1].to);
        Err(error(self.text, from, to, format!("{} for {name}", counted(least, most))))
    }
}

fn named(word: &str) -> Tree {
    match word {
        "true" => Tree::Truth(true),
        "false" => Tree::Truth(false),
        "pi" => Tree::Number(std::f64::consts::PI),
        _ => Tree::Path(word.to_owned()),
    }
}

fn counted(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, _) => format!("at least {least} arguments"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let mut lookup = |path: &str| match path {
            "i" => Some(3.0),
            "scout3.imu.accel_mps2[2]" => Some(-9.81),
            "scout-3.x" => Some(7.0),
            _ => None,
        };
        let mut call = |name: &str, arguments: &[Argument<'_>]| match (name, arguments) {
            ("distance", [Argument::Path("scout0"), Argument::Path("scout1")]) => Some(5.0),
            ("twice", [Argument::Value(value)]) => Some(value * 2.0),
            _ => None,
        };
        Expression::parse(text).unwrap().eval(&mut lookup, &mut call).unwrap()
    }

    fn refused(text: &str) -> String {
        Expression::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn arithmetic_binds_as_in_school() {
        assert_eq!(value("10940 + i"), 10943.0);
        assert_eq!(value("2 + 3 * 4 - 6 / 2"), 11.0);
        assert_eq!(value("-2 ^ 2"), -4.0);
        assert_eq!(value("2 ^ 3 ^ 2"), 512.0);
        assert_eq!(value("2 ^ -1"), 0.5);
        assert_eq!(value("10 - 4 - 3"), 3.0);
        assert_eq!(value("7 % 4 + .5e1"), 8.0);
    }

    #[test]
    fn truths_are_one_and_zero_in_both_spellings() {
        assert_eq!(value("1 < 2 and not 2 < 1"), 1.0);
        assert_eq!(value("1 >= 2 || !(1 == 1) && true"), 0.0);
        assert_eq!(value("false and nowhere.known"), 0.0);
        assert_eq!(value("true or nowhere.known"), 1.0);
        assert_eq!(value("1 + !0"), 2.0);
    }

    #[test]
    fn choice_looks_up_the_branch_taken_only() {
        assert_eq!(value("i > 2 ? 10 : unknown"), 10.0);
        assert_eq!(value("i < 2 ? 1 : i < 4 ? 2 : 3"), 2.0);
    }

    #[test]
    fn paths_hold_dots_dashes_and_indices() {
        assert_eq!(value("scout3.imu.accel_mps2[2]"), -9.81);
        assert_eq!(value("scout-3.x - 1"), 6.0);
        assert_eq!(value("2-i"), -1.0);
        assert_eq!(Expression::parse("a.b[1][2].c-d < e- f").unwrap().variables(), ["a.b[1][2].c-d", "e", "f"]);
    }

    #[test]
    fn calls_get_bare_paths_unread_and_the_rest_as_values() {
        assert_eq!(value("distance(scout0, scout1) + twice(i + 1)"), 13.0);
        assert_eq!(Expression::parse("distance(a, b) + abs(c)").unwrap().variables(), ["a", "b", "c"]);
        assert_eq!(Expression::parse("distance(a, b) + abs(c)").unwrap().functions(), ["distance"]);
    }

    #[test]
    fn functions_of_the_table_have_their_values() {
        assert_eq!(value("clamp(7, 0, 5) + clamp(-1, 0, 5) + clamp(1, 2, 0)"), 5.0);
        assert_eq!(value("min(3, 1, 2) + max(3, 1, 2) + abs(-4)"), 8.0);
        assert_eq!(value("hypot(3, 4) + sqrt(16) + round(2.5) + floor(-0.5) + ceil(0.5)"), 12.0);
        assert_eq!(value("atan2(0, 1) + sin(0) + cos(pi)"), -1.0);
    }

    #[test]
    fn a_fault_names_column_found_and_expected() {
        assert_eq!(refused("1 + "), "column 5: found the end, expected a value");
        assert_eq!(refused("(1 + 2"), "column 7: found the end, expected an operator or \")\"");
        assert_eq!(refused("1 $ 2"), "column 3: found \"$\", expected a number, a name or an operator");
        assert_eq!(refused("a[x]"), "column 2: found \"[\", expected an index such as [2]");
        assert_eq!(refused("1 + atan2(2)"), "column 5: found \"atan2(2)\", expected 2 arguments for atan2");
        assert_eq!(refused("1 < 2 < 3"), "column 7: found \"<\", expected one comparison (join two with \"and\")");
        assert_eq!(refused("a if b else c"), "column 3: found \"if\", expected an operator or the end");
        assert_eq!(refused("1e999"), "column 1: found \"1e999\", expected a number");
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        assert!(refused(&"(".repeat(100_000)).contains("at most 64 levels"));
        assert!(refused(&"-".repeat(100_000)).contains("at most 64 levels"));
        assert!(refused(&"2^".repeat(100_000)).contains("at most 64 levels"));
        assert!(refused(&"!".repeat(100_000)).contains("at most 64 levels"));
        assert_eq!(value(&format!("{}1", "1+".repeat(100_000))), 100_001.0);
    }

    #[test]
    fn what_has_no_value_is_named() {
        let eval = |text: &str| Expression::parse(text).unwrap().eval(&mut |_| None, &mut |_, _| None).unwrap_err();
        assert_eq!(eval("1 + x.y"), EvalError::Variable("x.y".to_owned()));
        assert_eq!(eval("f(1)"), EvalError::Call("f".to_owned()));
        assert!(eval("i-1").to_string().contains("write spaces around the minus"));
    }

    #[test]
    fn truth_is_told_from_number_and_the_source_is_kept() {
        let truth = |text: &str| Expression::parse(text).unwrap().is_truth();
        assert!(truth("a < b") && truth("not a") && truth("c ? true : a == b"));
        assert!(!truth("a") && !truth("a + 1") && !truth("c ? 1 : true"));
        assert_eq!(Expression::parse(" a+ b").unwrap().to_string(), " a+ b");
    }
}
