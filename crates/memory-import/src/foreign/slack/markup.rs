//! Slack's markup of texts: mentions, channels and links in angle brackets.

use std::collections::HashMap;

/// A text without markup: mentions with the names of members, links with their addresses.
pub(super) fn plain(marked: &str, members: &HashMap<String, String>) -> String {
    let mut plain = String::with_capacity(marked.len());
    let mut rest = marked;
    while let Some(begin) = rest.find('<') {
        let Some(end) = rest[begin..].find('>') else {
            break;
        };
        plain.push_str(&unescaped(&rest[..begin]));
        let inner = &rest[begin + 1..begin + end];
        plain.push_str(&unescaped(&reference(inner, members)));
        rest = &rest[begin + end + 1..];
    }
    plain.push_str(&unescaped(rest));
    plain
}

/// What stands in angle brackets, as Slack shows it.
fn reference(inner: &str, members: &HashMap<String, String>) -> String {
    let (target, label) = inner.split_once('|').unwrap_or((inner, ""));
    let or_label = |own: &str| match label {
        "" => own.to_owned(),
        label => label.to_owned(),
    };
    if let Some(id) = target.strip_prefix('@') {
        let known = members.get(id).filter(|name| !name.is_empty());
        return format!("@{}", known.cloned().unwrap_or_else(|| or_label(id)));
    }
    if let Some(id) = target.strip_prefix('#') {
        return format!("#{}", or_label(id));
    }
    if let Some(command) = target.strip_prefix('!') {
        return match (command.split('^').next().unwrap_or_default(), label) {
            ("here" | "channel" | "everyone", _) => format!("@{command}"),
            (_, "") => format!("@{command}"),
            (_, label) => label.to_owned(),
        };
    }
    let address = target.strip_prefix("mailto:").unwrap_or(target);
    match label {
        "" => address.to_owned(),
        // `<http://example.org|example.org>` is an address that was written without `http`.
        label if address.contains(label) => address.to_owned(),
        label => format!("{label} ({address})"),
    }
}

/// Slack escapes these three characters alone.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_as_slack_shows_it() {
        let members = HashMap::from([("U1".to_owned(), "Ada".to_owned())]);
        for (marked, expected) in [
            (
                "Ask <@U1> or <@U2|ben>, not <@U3>.",
                "Ask @Ada or @ben, not @U3.",
            ),
            ("See <#C1|general> and <#C2>", "See #general and #C2"),
            ("<!here> and <!subteam^S1|@backend>", "@here and @backend"),
            ("<!date^1740819600^{date}|1 March>", "1 March"),
            (
                "<https://example.org/a?b=1&amp;c=2>",
                "https://example.org/a?b=1&c=2",
            ),
            (
                "<https://example.org|the plan>",
                "the plan (https://example.org)",
            ),
            ("<http://example.org|example.org>", "http://example.org"),
            (
                "<mailto:ada@example.org|ada@example.org>",
                "ada@example.org",
            ),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("a < b", "a < b"),
            ("", ""),
        ] {
            assert_eq!(plain(marked, &members), expected, "{marked}");
        }
    }
}
