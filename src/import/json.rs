// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access to JSON documents, for the formats that are JSON.
//!
//! In: the text of a document. Out: its objects. Each object knows its place in the document, so errors
//! say where they are: `results[3].name: not a string`.

use serde_json::Value;

use crate::stream::run::Fact;

/// A value, usually an object, and its place in the document: `results[3]`.
pub(super) struct Object<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> Object<'a> {
    /// The whole document.
    pub fn document(value: &'a Value) -> Self {
        let place = String::new();
        Object { value, place }
    }

    /// The objects of JSON lines.
    pub fn lines(document: &'a Value) -> Vec<Self> {
        let object = |(at, value)| Object {
            value,
            place: format!("[{at}]"),
        };
        lines(document).iter().enumerate().map(object).collect()
    }

    /// The elements of a document that is an array.
    pub fn elements(document: &'a Value) -> Result<Vec<Self>, String> {
        array(document, "", "the document")
    }

    /// The member of this name; `None` if it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// All members.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let pairs = self.value.as_object().into_iter().flatten();
        pairs.map(|(name, value)| (name.as_str(), value))
    }

    /// The members that are strings, numbers or booleans, as text.
    pub fn scalars(&self) -> impl Iterator<Item = (&'a str, String)> {
        let pairs = self.pairs();
        pairs.filter_map(|(name, value)| Some((name, scalar(value)?)))
    }

    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        let value = self.get(name)?;
        let place = self.place_of(name);
        Some(Object { value, place })
    }

    pub fn required_object(&self, name: &str) -> Result<Object<'a>, String> {
        self.object(name)
            .ok_or_else(|| self.error_in(name, "missing"))
    }

    /// Facts from fields with a single value, given as `(fact, field)`. Fields that are absent have
    /// none.
    pub fn facts<'b>(&'b self, names: &'b [(&str, &str)]) -> impl Iterator<Item = Fact> + 'b {
        let fact = |(name, field): &(&str, &str)| {
            let value = scalar(self.get(field)?)?;
            Some(Fact::new(name, &value))
        };
        names.iter().filter_map(fact)
    }

    pub fn objects(&self, name: &str) -> Result<Vec<Self>, String> {
        let value = self.required(name)?;
        let place = self.place_of(name);
        array(value, &place, &place)
    }

    /// The elements of this value, which must be an array.
    pub fn items(&self) -> Result<Vec<Self>, String> {
        array(self.value, &self.place, &self.place)
    }

    /// This value, which must be a number.
    pub fn as_number(&self) -> Result<f64, String> {
        let number = self.value.as_f64();
        number.ok_or_else(|| self.error("not a number"))
    }

    /// An error about this value: `results[3]: what`.
    pub fn error(&self, what: &str) -> String {
        format!("{}: {what}", self.place)
    }

    pub fn text(&self, name: &str) -> Result<&'a str, String> {
        let value = self.required(name)?;
        let text = value.as_str();
        text.ok_or_else(|| self.error_in(name, "not a string"))
    }

    pub fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.required(name)?;
        let number = value.as_f64();
        number.ok_or_else(|| self.error_in(name, "not a number"))
    }

    /// The number of this name; `None` if it is absent or null.
    pub fn optional_number(&self, name: &str) -> Result<Option<f64>, String> {
        self.get(name).map(|_| self.number(name)).transpose()
    }

    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, String> {
        let values = self.required(name)?.as_array();
        let values = values.ok_or_else(|| self.error_in(name, "not an array"))?;
        let numbers = values.iter().enumerate().map(|(at, value)| {
            let number = value.as_f64();
            number.ok_or_else(|| self.error_in(&format!("{name}[{at}]"), "not a number"))
        });
        numbers.collect()
    }

    /// An error about a member: `results[3].name: what`.
    pub fn error_in(&self, name: &str, what: &str) -> String {
        format!("{}: {what}", self.place_of(name))
    }

    fn required(&self, name: &str) -> Result<&'a Value, String> {
        let value = self.get(name);
        value.ok_or_else(|| self.error_in(name, "missing"))
    }

    fn place_of(&self, name: &str) -> String {
        match self.place.as_str() {
            "" => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }
}

/// Parses a document. Several consecutive values, as in JSON lines, become an array.
///
/// # Errors
///
/// The text is not JSON or is truncated.
pub(super) fn document(text: &[u8]) -> serde_json::Result<Value> {
    let values = serde_json::Deserializer::from_slice(text).into_iter();
    let mut values = values.collect::<Result<Vec<Value>, _>>()?;
    Ok(match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    })
}

/// The values of JSON lines. A single line that is not an array is one value.
pub(super) fn lines(document: &Value) -> &[Value] {
    match document {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}

/// A string, number or boolean as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn array<'a>(value: &'a Value, place: &str, called: &str) -> Result<Vec<Object<'a>>, String> {
    let elements = value.as_array();
    let elements = elements.ok_or_else(|| format!("{called}: not an array"))?;
    let object = |(at, value)| Object {
        value,
        place: format!("{place}[{at}]"),
    };
    Ok(elements.iter().enumerate().map(object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn consecutive_values_become_an_array() {
        assert_eq!(document(b"{\"a\": 1}\n").unwrap(), json!({"a": 1}));
        let rows = document(b"{\"a\": 1}\n{\"a\": 2}\n").unwrap();
        assert_eq!(rows, json!([{"a": 1}, {"a": 2}]));
        assert_eq!(lines(&rows).len(), 2);
        assert_eq!(lines(&json!({"a": 1})).len(), 1);
        assert!(document(b"{\"a\": 1}\n{\"a\": ").is_err());
    }

    #[test]
    fn errors_name_their_place() {
        let document = json!({"a": [{"b": 1.5, "c": "x", "d": [1, "y"], "e": null}]});
        let objects = Object::document(&document).objects("a").unwrap();
        let object = &objects[0];
        assert_eq!(object.number("b"), Ok(1.5));
        assert_eq!(object.text("c"), Ok("x"));
        assert_eq!(object.optional_number("e"), Ok(None));
        for (error, says) in [
            (object.text("b").unwrap_err(), "a[0].b: not a string"),
            (object.number("c").unwrap_err(), "a[0].c: not a number"),
            (object.number("e").unwrap_err(), "a[0].e: missing"),
            (object.numbers("d").unwrap_err(), "a[0].d[1]: not a number"),
            (object.numbers("c").unwrap_err(), "a[0].c: not an array"),
            (object.objects("b").err().unwrap(), "a[0].b: not an array"),
        ] {
            assert_eq!(error, says);
        }
        let error = Object::elements(&document).err().unwrap();
        assert_eq!(error, "the document: not an array");
    }
}
