//! Text of others in a message: literal to the eye, without power over the layout, and within a length.

use unicode_segmentation::UnicodeSegmentation;

/// Stands where text was cut.
const CUT: char = '…';

/// `text` as it is to stand in a message: everything visible, escaped, and cut to `limit` (at least 1) as [`length`]
/// counts, between two graphemes and never within an entity.
pub(super) fn fit(text: &str, limit: usize) -> String {
    let mut fitted = String::new();
    let mut so_far = 0;
    // Up to here there is still room for the sign of the cut.
    let mut keep = 0;
    for grapheme in text.graphemes(true) {
        let start = fitted.len();
        grapheme.chars().for_each(|c| show(c, &mut fitted));
        so_far += length(&fitted[start..]);
        if so_far > limit {
            fitted.truncate(keep);
            fitted.push(CUT);
            break;
        }
        if so_far < limit {
            keep = fitted.len();
        }
    }
    fitted
}

/// The length that limits are held to: UTF-16 units, of which there are at least as many as characters.
pub(super) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Adds `c` as it is to be seen: a picture for a control character, the code of one that hides or reorders its
/// neighbours, and the entity of the three to which Slack gives a meaning. It decodes these entities and no others.
fn show(c: char, shown: &mut String) {
    match c {
        '&' => shown.push_str("&amp;"),
        '<' => shown.push_str("&lt;"),
        '>' => shown.push_str("&gt;"),
        '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
        '\x7f' => shown.push('\u{2421}'),
        c if c.is_control() || hides(c) => shown.extend(c.escape_unicode()),
        c => shown.push(c),
    }
}

/// Separators, invisible ones, and those that set the direction. The joiners U+200C and U+200D stay: scripts and emoji
/// are written with them.
fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_three_characters_are_escaped() {
        for (text, expected) in [
            ("a&b", "a&amp;b"),
            ("<!channel>", "&lt;!channel&gt;"),
            ("<https://evil.test|click>", "&lt;https://evil.test|click&gt;"),
            ("&amp;", "&amp;amp;"),
            ("'\"`*_~@#{}%\\", "'\"`*_~@#{}%\\"),
            ("&\u{301}<", "&amp;\u{301}&lt;"),
        ] {
            assert_eq!(fit(text, 100), expected);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        for (text, expected) in [
            ("a\nb\tc\0\x7f\x1b[31m", "a␊b␉c␀␡␛[31m"),
            ("\u{85}\u{9b}", "\\u{85}\\u{9b}"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            (
                "a\u{200b}b\u{feff}c\u{2028}d\u{2066}e",
                "a\\u{200b}b\\u{feff}c\\u{2028}d\\u{2066}e",
            ),
            ("שלום مرحبا", "שלום مرحبا"),
            (
                "می\u{200c}خواهم 👨\u{200d}👩\u{200d}👧",
                "می\u{200c}خواهم 👨\u{200d}👩\u{200d}👧",
            ),
        ] {
            assert_eq!(fit(text, 100), expected);
        }
    }

    #[test]
    fn text_is_cut_between_graphemes_and_never_within_an_entity() {
        for (text, limit, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("", 1, ""),
            ("a&b", 7, "a&amp;b"),
            ("a&bc", 7, "a&amp;…"),
            ("a&bc", 6, "a…"),
            ("a<<<", 9, "a&lt;…"),
            // A family is one grapheme of eight units, a flag of four.
            ("👨\u{200d}👩\u{200d}👧!", 9, "👨\u{200d}👩\u{200d}👧!"),
            ("a👨\u{200d}👩\u{200d}👧", 8, "a…"),
            ("🇯🇵🇯🇵", 7, "🇯🇵…"),
            ("e\u{301}e\u{301}", 3, "e\u{301}…"),
            ("e\u{301}e\u{301}e", 4, "e\u{301}…"),
        ] {
            let fitted = fit(text, limit);
            assert_eq!(fitted, expected, "{text} to {limit}");
            assert!(length(&fitted) <= limit);
        }
    }

    #[test]
    fn one_endless_grapheme_leaves_only_the_sign_of_the_cut() {
        let endless = format!("a{}", "\u{301}".repeat(100_000));
        assert_eq!(fit(&endless, 150), "…");
    }
}
