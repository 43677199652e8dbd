//! What a container says of the values in its documents, as far as queries depend on it.
//!
//! Whether the policies of a container are valid is checked where containers are made.

use cosmonaut_wire::model::{ContainerProperties, FullTextPolicy, GeospatialType, VectorEmbedding};

use crate::search::{Language, Metric};
use crate::spatial::Surface;

/// What a container says of the values in its documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The paths that hold vectors.
    pub vectors: Vec<VectorPath>,
    /// The paths that hold texts to search.
    pub texts: Vec<TextPath>,
    /// The language of all other texts.
    pub language: Language,
    /// What the coordinates of shapes mean.
    pub surface: Surface,
}

/// A path that holds vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorPath {
    /// The names of the members that lead to it.
    pub path: Vec<String>,
    /// How the distance to another vector is measured.
    pub metric: Metric,
}

/// A path that holds texts to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPath {
    /// The names of the members that lead to it.
    pub path: Vec<String>,
    /// The language of the texts.
    pub language: Language,
}

impl Setting {
    /// What the properties of a container say. Paths and names that are not valid say nothing.
    pub fn of(properties: &ContainerProperties) -> Setting {
        let vectors = properties.vector_embedding_policy.iter().flat_map(|policy| &policy.vector_embeddings);
        let vectors = vectors.filter_map(vector_path).collect();
        let surface = match properties.geospatial_config.as_ref().and_then(|config| config.kind.as_ref()) {
            Some(GeospatialType::Geometry) => Surface::Geometry,
            Some(_) | None => Surface::Geography,
        };
        match &properties.full_text_policy {
            Some(policy) => Setting { vectors, surface, ..Setting::of_texts(policy) },
            None => Setting { vectors, surface, ..Setting::default() },
        }
    }

    fn of_texts(policy: &FullTextPolicy) -> Setting {
        let language = policy.default_language.as_deref().and_then(Language::of_name).unwrap_or_default();
        let texts = policy.full_text_paths.iter().flatten().filter_map(|text| {
            let own = text.language.as_deref().and_then(Language::of_name);
            Some(TextPath { path: member_path(&text.path)?, language: own.unwrap_or(language) })
        });
        Setting { texts: texts.collect(), language, ..Setting::default() }
    }

    /// How distances to the vectors at a path are measured.
    pub fn metric_at<S: AsRef<str>>(&self, path: &[S]) -> Option<Metric> {
        self.vectors.iter().find(|vector| leads(&vector.path, path)).map(|vector| vector.metric)
    }

    /// The language of the texts at a path.
    pub fn language_at<S: AsRef<str>>(&self, path: &[S]) -> Language {
        let text = self.texts.iter().find(|text| leads(&text.path, path));
        text.map_or(self.language, |text| text.language)
    }
}

fn vector_path(vector: &VectorEmbedding) -> Option<VectorPath> {
    let metric = Metric::of_name(vector.distance_function().as_str()).unwrap_or_default();
    Some(VectorPath { path: member_path(&vector.path)?, metric })
}

fn leads<S: AsRef<str>>(known: &[String], path: &[S]) -> bool {
    known.len() == path.len() && known.iter().zip(path).all(|(known, name)| known == name.as_ref())
}

/// The names in a path such as `/a/b` or `/"odd name"/b`; none if it is no path of members.
pub fn member_path(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix('/') {
        let (name, end) = match after.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"')?;
                (&quoted[..end], end + 2)
            }
            None => {
                let end = after.find('/').unwrap_or(after.len());
                (&after[..end], end)
            }
        };
        if name.is_empty() || matches!(name, "*" | "?" | "[]") {
            return None;
        }
        names.push(name.to_owned());
        rest = &after[end..];
    }
    (rest.is_empty() && !names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_members_are_read_and_others_are_not() {
        for (text, names) in [
            ("/a", Some(vec!["a"])),
            ("/a/b", Some(vec!["a", "b"])),
            ("/\"odd /name\"/b", Some(vec!["odd /name", "b"])),
            ("", None),
            ("a", None),
            ("/", None),
            ("/a/", None),
            ("/a/*", None),
            ("/a/[]/b", None),
            ("/\"a", None),
            ("/\"a\"b", None),
        ] {
            let names = names.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(member_path(text), names, "{text}");
        }
    }
}
