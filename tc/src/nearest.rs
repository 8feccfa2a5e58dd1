//! Finds the valid word nearest to a mistyped one.

/// The candidate with the smallest edit distance from `word`, if the distance is plausible for a typing
/// error: at most one edit for words of up to three characters, two up to six, three beyond. A candidate that
/// `word` abbreviates (tc itself accepts `lim` for `limit`) has distance one. The earlier candidate wins a
/// tie. Case does not matter.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer text is not a mistyped word, and computing the distance takes time in proportion to its length.
    const LONGEST_WORD: usize = 32;
    let word: Vec<char> = word.chars().take(LONGEST_WORD + 1).collect();
    if word.is_empty() || word.len() > LONGEST_WORD {
        return None;
    }
    let word: Vec<char> = word.iter().map(char::to_ascii_lowercase).collect();
    let allowed_edits = match word.len() {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (edits(&word, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed_edits)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

fn edits(word: &[char], candidate: &str) -> usize {
    let candidate: Vec<char> = candidate.chars().collect();
    let distance = edit_distance(word, &candidate);
    if word.len() >= 2 && candidate.starts_with(word) {
        distance.min(1)
    } else {
        distance
    }
}

/// Edit distance by optimal string alignment: insertion, deletion, substitution and transposition of
/// neighbours cost one each.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        edit_distance(&a, &b)
    }

    #[test]
    fn distances_known_from_the_literature() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("limit", "limit"), 0);
        assert_eq!(distance("lmiit", "limit"), 1); // one swap
        assert_eq!(distance("ca", "abc"), 3); // optimal string alignment, not Damerau (2)
    }

    #[test]
    fn nearest_finds_typing_errors_only() {
        let words = ["limit", "delay", "rate"];
        assert_eq!(nearest("limt", words), Some("limit"));
        assert_eq!(nearest("LIMIT", words), Some("limit"));
        assert_eq!(nearest("dely", words), Some("delay"));
        assert_eq!(nearest("del", words), Some("delay"));
        assert_eq!(nearest("throughput", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"x".repeat(5000), words), None);
    }
}
