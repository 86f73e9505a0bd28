//! What the formats of lines have in common: numbers, and summaries made of them.

use super::Figure;
use crate::run::Stat;

/// A number as a source prints it; the error says that it is none.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is no number")),
    }
}

/// The text of a number that a source prints without a fraction: a point in it may mark thousands.
pub(super) fn whole(text: &str) -> Result<&str, String> {
    if text.contains('.') {
        let text = text.trim();
        return Err(format!(
            "`{text}` is ambiguous: its point may mark thousands"
        ));
    }
    Ok(text)
}

/// A summary, unless it is of no sample, or `what` the source printed holds something that is no
/// number.
pub(super) fn figure(what: &str, stat: Result<Stat, String>) -> Figure {
    match stat {
        Ok(stat) if stat.samples == 0 => Figure::Failed("no sample".to_owned()),
        Ok(stat) => Figure::Summary(stat),
        Err(why) => Figure::Failed(format!("in `{}`: {why}", what.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_finite() {
        assert_eq!(number(" 1.5 "), Ok(1.5));
        assert_eq!(number("-2"), Ok(-2.0));
        for text in ["", "n/a", "nan", "inf", "1e999", "1,5", "0x10"] {
            assert_eq!(number(text), Err(format!("`{text}` is no number")));
        }
    }
}
