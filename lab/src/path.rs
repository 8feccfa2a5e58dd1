//! Paths into a resolved description, as in error messages: `links[1].forward.rate_bps`, and with
//! the name of a flow or probe `flows[bulk].source.gap.mean`.

use crate::problem::Problem;

/// Maximum length of a path.
const MOST_BYTES: usize = 200;

/// A component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of an object.
    Key(String),
    /// An index into a list, from 0.
    Place(usize),
    /// The name of a list element.
    Named(String),
}

/// Parses a path.
///
/// # Errors
/// The path is malformed.
pub fn steps(path: &str) -> Result<Vec<Step>, Problem> {
    let refused = || {
        let allowed = "a path such as links[1].forward.rate_bps or flows[bulk].count";
        Problem::new(path, path, allowed)
    };
    if path.is_empty() || path.len() > MOST_BYTES {
        return Err(refused());
    }
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end > 0 {
            steps.push(Step::Key(rest[..end].to_owned()));
        }
        rest = &rest[end..];
        if let Some(inside) = rest.strip_prefix('[') {
            let close = inside.find(']').ok_or_else(refused)?;
            let place = &inside[..close];
            let step = place.parse().map(Step::Place);
            steps.push(step.unwrap_or_else(|_| Step::Named(place.to_owned())));
            rest = &inside[close + 1..];
        } else if end == 0 && !rest.starts_with('.') {
            return Err(refused());
        }
        if let Some(after) = rest.strip_prefix('.') {
            if after.is_empty() || after.starts_with(['.', '[']) {
                return Err(refused());
            }
            rest = after;
        } else if !rest.is_empty() && !rest.starts_with('[') {
            return Err(refused());
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names() {
        let found = steps("links[1].forward.rate_bps").unwrap();
        let key = |name: &str| Step::Key(name.to_owned());
        let expected = [
            key("links"),
            Step::Place(1),
            key("forward"),
            key("rate_bps"),
        ];
        assert_eq!(found, expected);
        let found = steps("flows[a.b-1].count").unwrap();
        assert_eq!(
            found,
            [key("flows"), Step::Named("a.b-1".into()), key("count")]
        );
        assert_eq!(steps("duration_ns").unwrap(), [key("duration_ns")]);
    }

    #[test]
    fn what_is_no_path() {
        let long = "a".repeat(MOST_BYTES + 1);
        for path in ["", ".", "a.", "a..b", "links[1", "a[1]b", "a.[1]", &long] {
            assert!(steps(path).is_err(), "{path}");
        }
    }
}
