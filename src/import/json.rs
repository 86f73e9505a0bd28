// SPDX-License-Identifier: MIT OR Apache-2.0

//! Objects of a JSON document, which say where in it they are when something is wrong with them.

use serde_json::Value;

use crate::stream::run::Fact;

/// An object and its place in the document: `results[3]`.
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

    /// The objects of a document of JSON lines.
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

    /// The value of this name; one that is null is not there.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// All names with their values.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let pairs = self.value.as_object().into_iter().flatten();
        pairs.map(|(name, value)| (name.as_str(), value))
    }

    /// The names and values that are single: text, numbers, true and false.
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
            .ok_or_else(|| self.wrong(name, "not there"))
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
        let value = self.need(name)?;
        let place = self.place_of(name);
        array(value, &place, &place)
    }

    /// The elements of what is itself an array.
    pub fn items(&self) -> Result<Vec<Self>, String> {
        array(self.value, &self.place, &self.place)
    }

    /// What is itself a number.
    pub fn itself(&self) -> Result<f64, String> {
        let number = self.value.as_f64();
        number.ok_or_else(|| self.says("no number"))
    }

    /// That it is itself wrong: `results[3]: what`.
    pub fn says(&self, what: &str) -> String {
        format!("{}: {what}", self.place)
    }

    pub fn text(&self, name: &str) -> Result<&'a str, String> {
        let value = self.need(name)?;
        value.as_str().ok_or_else(|| self.wrong(name, "no text"))
    }

    pub fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.need(name)?;
        let number = value.as_f64();
        number.ok_or_else(|| self.wrong(name, "no number"))
    }

    /// The number of this name, if there is something of this name.
    pub fn number_if_there(&self, name: &str) -> Result<Option<f64>, String> {
        self.get(name).map(|_| self.number(name)).transpose()
    }

    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, String> {
        let values = self.need(name)?.as_array();
        let values = values.ok_or_else(|| self.wrong(name, "no array"))?;
        let numbers = values.iter().enumerate().map(|(at, value)| {
            let number = value.as_f64();
            number.ok_or_else(|| self.wrong(&format!("{name}[{at}]"), "no number"))
        });
        numbers.collect()
    }

    /// That something is wrong here: `results[3].name: what`.
    pub fn wrong(&self, name: &str, what: &str) -> String {
        format!("{}: {what}", self.place_of(name))
    }

    fn need(&self, name: &str) -> Result<&'a Value, String> {
        self.get(name).ok_or_else(|| self.wrong(name, "not there"))
    }

    fn place_of(&self, name: &str) -> String {
        match self.place.as_str() {
            "" => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }
}

/// Reads a document. Several values in a row, such as JSON lines, make an array.
///
/// # Errors
///
/// It is not JSON, or it breaks off.
pub(super) fn document(text: &[u8]) -> serde_json::Result<Value> {
    let values = serde_json::Deserializer::from_slice(text).into_iter();
    let mut values = values.collect::<Result<Vec<Value>, _>>()?;
    Ok(match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    })
}

/// The values of JSON lines; of one line, that is not an array, its own.
pub(super) fn lines(document: &Value) -> &[Value] {
    match document {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}

/// A value that is single, as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn array<'a>(value: &'a Value, place: &str, called: &str) -> Result<Vec<Object<'a>>, String> {
    let elements = value.as_array();
    let elements = elements.ok_or_else(|| format!("{called}: no array"))?;
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
    fn values_in_a_row_are_an_array() {
        assert_eq!(document(b"{\"a\": 1}\n").unwrap(), json!({"a": 1}));
        let rows = document(b"{\"a\": 1}\n{\"a\": 2}\n").unwrap();
        assert_eq!(rows, json!([{"a": 1}, {"a": 2}]));
        assert_eq!(lines(&rows).len(), 2);
        assert_eq!(lines(&json!({"a": 1})).len(), 1);
        assert!(document(b"{\"a\": 1}\n{\"a\": ").is_err());
    }

    #[test]
    fn an_error_says_where_it_is() {
        let document = json!({"a": [{"b": 1.5, "c": "x", "d": [1, "y"], "e": null}]});
        let objects = Object::document(&document).objects("a").unwrap();
        let object = &objects[0];
        assert_eq!(object.number("b"), Ok(1.5));
        assert_eq!(object.text("c"), Ok("x"));
        assert_eq!(object.number_if_there("e"), Ok(None));
        for (error, says) in [
            (object.text("b").unwrap_err(), "a[0].b: no text"),
            (object.number("c").unwrap_err(), "a[0].c: no number"),
            (object.number("e").unwrap_err(), "a[0].e: not there"),
            (object.numbers("d").unwrap_err(), "a[0].d[1]: no number"),
            (object.numbers("c").unwrap_err(), "a[0].c: no array"),
            (object.objects("b").err().unwrap(), "a[0].b: no array"),
        ] {
            assert_eq!(error, says);
        }
        let error = Object::elements(&document).err().unwrap();
        assert_eq!(error, "the document: no array");
    }
}
