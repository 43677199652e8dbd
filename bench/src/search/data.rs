//! What is searched: vectors in clusters, and texts of words as frequent as in a language.

use serde_json::{Value, json};

use super::identified;

const DIMENSIONS: usize = 256;
const CLUSTERS: u64 = 200;
const VOCABULARY: u64 = 20_000;
const WORDS: usize = 80;

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Vectors,
    Texts,
}

/// A query, with the name of its row.
pub(super) struct Search {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) parameters: Vec<(&'static str, Value)>,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Vectors, Self::Texts];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vectors => "vectors",
            Self::Texts => "texts",
        }
    }

    pub(super) fn title(self) -> String {
        match self {
            Self::Vectors => format!("Vectors of {DIMENSIONS} dimensions"),
            Self::Texts => format!("Texts of {WORDS} words"),
        }
    }

    pub(super) fn container(self, is_indexed: bool) -> Value {
        let mut container = json!({
            "id": self.name(),
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "indexingPolicy": {
                "includedPaths": [{"path": "/*"}],
                "excludedPaths": [{"path": "/v/*"}, {"path": "/text/?"}],
            },
        });
        if let Self::Vectors = self {
            let embedding = json!({
                "path": "/v", "dataType": "float32", "dimensions": DIMENSIONS, "distanceFunction": "cosine",
            });
            container["vectorEmbeddingPolicy"] = json!({"vectorEmbeddings": [embedding]});
        }
        if let Self::Texts = self {
            let path = json!({"path": "/text", "language": "en-US"});
            container["fullTextPolicy"] = json!({"defaultLanguage": "en-US", "fullTextPaths": [path]});
        }
        if is_indexed {
            let (member, index) = match self {
                Self::Vectors => ("vectorIndexes", json!({"path": "/v", "type": "diskANN"})),
                Self::Texts => ("fullTextIndexes", json!({"path": "/text"})),
            };
            container["indexingPolicy"][member] = json!([index]);
        }
        container
    }

    pub(super) fn document(self, number: u64) -> Value {
        let mut draw = Draw(number.wrapping_mul(2).wrapping_add(1));
        let document = match self {
            Self::Vectors => json!({"v": vector(number % CLUSTERS, &mut draw)}),
            Self::Texts => json!({"text": text(&mut draw)}),
        };
        identified(number, document)
    }

    /// Searches of growing results.
    pub(super) fn searches(self) -> Vec<Search> {
        match self {
            Self::Vectors => [1, 10, 100, 1000].map(nearest).into(),
            Self::Texts => texts(),
        }
    }
}

fn nearest(count: u64) -> Search {
    let sought = vector(7, &mut Draw(0xA11CE));
    Search {
        name: format!("the {count} nearest"),
        text: format!("SELECT TOP {count} VALUE c.id FROM c ORDER BY VectorDistance(c.v, @v)"),
        parameters: vec![("@v", json!(sought))],
    }
}

fn texts() -> Vec<Search> {
    let contains = |rank: u64| Search {
        name: format!("contain word {rank}"),
        text: "SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, @w)".to_owned(),
        parameters: vec![("@w", json!(word(rank)))],
    };
    let ranked = |count: u64| Search {
        name: format!("the {count} best for two words"),
        text: format!("SELECT TOP {count} VALUE c.id FROM c ORDER BY RANK FullTextScore(c.text, @a, @b)"),
        parameters: vec![("@a", json!(word(300))), ("@b", json!(word(5_000)))],
    };
    vec![contains(10_000), contains(1_000), contains(100), ranked(10), ranked(100)]
}

/// Around the middle of its cluster.
fn vector(cluster: u64, draw: &mut Draw) -> Vec<f32> {
    let mut middle = Draw(cluster.wrapping_add(0xC0FFEE));
    (0..DIMENSIONS).map(|_| (middle.unit() - 0.5 + (draw.unit() - 0.5) * 0.6) as f32).collect()
}

/// The word of a rank is as frequent as one over the rank.
fn text(draw: &mut Draw) -> String {
    let ranks = (0..WORDS).map(|_| (VOCABULARY as f64).powf(draw.unit()) as u64);
    ranks.map(word).collect::<Vec<_>>().join(" ")
}

fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "vu", "wa", "xo", "zi", "be", "du", "fa", "go"];
    let syllable = |place: u32| SYLLABLES[(rank >> (4 * place)) as usize % SYLLABLES.len()];
    (0..4).map(syllable).collect()
}

/// Numbers that look random and are the same in each run.
struct Draw(u64);

impl Draw {
    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
