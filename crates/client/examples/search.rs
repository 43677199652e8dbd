//! Searches: by meaning (vectors), by words (full text), by both together, and by place.
//!
//! `cargo run -p cosmonaut --example search`

mod support;

use std::error::Error;

use cosmonaut::model::{
    FullTextPath, FullTextPolicy, IndexingPolicy, VectorDistanceFunction, VectorEmbedding,
    VectorEmbeddingPolicy, VectorIndex, VectorIndexType,
};
use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient, FeedScope, Query};
use serde_json::json;
use support::Account;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("search").await?;
    let database = client.database("search");
    database.create_container_if_not_exists(cafes()).await?;
    let cafes = database.container("cafes");
    // Of a model, a vector has hundreds of numbers; these stand for "sweet" and "strong".
    for (name, menu, taste, at) in [
        ("Aroma", "espresso ristretto", [0.1, 0.9], [13.40, 52.52]),
        ("Biscuit", "cake tart waffle", [0.9, 0.1], [13.41, 52.52]),
        ("Corner", "espresso cake", [0.6, 0.6], [2.35, 48.86]),
    ] {
        let place = json!({"type": "Point", "coordinates": at});
        let cafe = json!({"id": name, "city": "any", "menu": menu, "taste": taste, "place": place});
        cafes.upsert_item("any", &cafe).await?;
    }

    let nearest = Query::new("SELECT TOP 2 VALUE c.id FROM c ORDER BY VectorDistance(c.taste, @wanted)")
        .with("@wanted", [0.0, 1.0]);
    assert_eq!(names(&cafes, nearest).await?, ["Aroma", "Corner"]);

    let words = "SELECT VALUE c.id FROM c WHERE FullTextContains(c.menu, 'cake') ORDER BY c.id";
    assert_eq!(names(&cafes, words.into()).await?, ["Biscuit", "Corner"]);

    // Ranked by both, so that what is good in one list and in the other comes first.
    let both = "SELECT TOP 1 VALUE c.id FROM c \
                ORDER BY RANK RRF(VectorDistance(c.taste, [0.5, 0.5]), FullTextScore(c.menu, 'espresso', 'cake'))";
    assert_eq!(names(&cafes, both.into()).await?, ["Corner"]);

    let near = Query::new("SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.place, @here) < 5000 ORDER BY c.id")
        .with("@here", json!({"type": "Point", "coordinates": [13.40, 52.52]}));
    assert_eq!(names(&cafes, near).await?, ["Aroma", "Biscuit"]);
    database.delete().await?;
    Ok(())
}

/// A container with an index for each kind of search.
fn cafes() -> ContainerProperties {
    let vectors = VectorEmbeddingPolicy {
        vector_embeddings: vec![VectorEmbedding::new("/taste", 2, VectorDistanceFunction::Cosine)],
        ..Default::default()
    };
    let menu = FullTextPath { path: "/menu".to_owned(), language: None, extra: Default::default() };
    let texts = FullTextPolicy { full_text_paths: Some(vec![menu]), ..Default::default() };
    let policy = IndexingPolicy::default()
        .with_vector_index(VectorIndex::new("/taste", VectorIndexType::QuantizedFlat))
        .with_full_text_index("/menu");
    ContainerProperties::new("cafes", "/city")
        .with_indexing_policy(policy)
        .with_vector_embedding_policy(vectors)
        .with_full_text_policy(texts)
}

async fn names(cafes: &ContainerClient, query: Query) -> Result<Vec<String>, cosmonaut::Error> {
    cafes.query_items(query, FeedScope::Container).collect().await
}
