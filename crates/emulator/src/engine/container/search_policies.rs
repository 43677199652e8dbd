//! Policies for vectors and texts: what they may say, and what a replacement may change of them.

use cosmonaut_query::member_path;
use cosmonaut_query::search::Language;
use cosmonaut_wire::model::{
    ContainerProperties, FullTextPolicy, IndexingPolicy, VectorDataType, VectorDistanceFunction,
    VectorEmbedding, VectorIndex, VectorIndexType,
};

use crate::Failure;

/// The most dimensions that a vector may have, and those that a flat index takes.
const MAX_DIMENSIONS: i64 = 4096;
const MAX_FLAT_DIMENSIONS: i64 = 505;
/// The most bytes of a compressed vector.
const MAX_QUANTIZED_BYTES: i64 = 512;
/// The most paths that shard an index over vectors.
const MAX_SHARD_PATHS: usize = 1;

/// 400 for policies that the service does not take.
pub(super) fn check(properties: &ContainerProperties) -> Result<(), Failure> {
    let embeddings = embeddings(properties);
    embeddings.iter().try_for_each(check_embedding)?;
    for (nth, embedding) in embeddings.iter().enumerate() {
        if embeddings.iter().take(nth).any(|earlier| earlier.path == embedding.path) {
            let path = &embedding.path;
            return refused(format!("The Vector Embedding Policy has the path {path} more than once."));
        }
    }
    vector_indexes(properties.indexing_policy.as_ref())
        .iter()
        .try_for_each(|index| check_vector_index(index, embeddings))?;
    properties.full_text_policy.iter().try_for_each(check_full_text)?;
    let texts =
        properties.indexing_policy.iter().flat_map(|policy| policy.full_text_indexes.iter().flatten());
    texts.map(|index| &index.path).try_for_each(|path| match member_path(path) {
        Some(_) => Ok(()),
        None => refused(format!("The full-text index contains an invalid path: {path}")),
    })
}

/// 400 if a replacement changes an entry that is there. Whole entries may come and go.
pub(super) fn check_replacement(
    current: &ContainerProperties,
    new: &ContainerProperties,
) -> Result<(), Failure> {
    let changed = |old: &VectorEmbedding| {
        embeddings(new).iter().any(|embedding| embedding.path == old.path && embedding != old)
    };
    if embeddings(current).iter().any(changed) {
        return refused("Paths in existing embedding policy cannot be modified in Collection Replace");
    }
    let (old, new) =
        (vector_indexes(current.indexing_policy.as_ref()), vector_indexes(new.indexing_policy.as_ref()));
    let changed = |old: &VectorIndex| new.iter().any(|index| index.path == old.path && index != old);
    if old.iter().any(changed) {
        return refused("Paths in existing vector indexing policy cannot be modified in Collection Replace");
    }
    Ok(())
}

fn embeddings(properties: &ContainerProperties) -> &[VectorEmbedding] {
    properties.vector_embedding_policy.as_ref().map_or(&[], |policy| &policy.vector_embeddings)
}

fn vector_indexes(policy: Option<&IndexingPolicy>) -> &[VectorIndex] {
    policy.and_then(|policy| policy.vector_indexes.as_deref()).unwrap_or_default()
}

fn check_embedding(embedding: &VectorEmbedding) -> Result<(), Failure> {
    if member_path(&embedding.path).is_none() {
        return refused(format!("The Vector Embedding Policy has an invalid Path:{}", embedding.path));
    }
    if let VectorDataType::Other(name) = embedding.data_type() {
        return refused(format!("The Vector Embedding Policy has an invalid DataType:{name}"));
    }
    if let VectorDistanceFunction::Other(name) = embedding.distance_function() {
        return refused(format!("The Vector Embedding Policy has an invalid DistanceFunction:{name}"));
    }
    let dimensions = embedding.dimensions();
    if dimensions > MAX_DIMENSIONS {
        return refused(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is more than the maximum supported value \
             {MAX_DIMENSIONS}."
        ));
    }
    if dimensions < 1 {
        return refused(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is less than the minimum supported value 1."
        ));
    }
    check_source(embedding)
}

/// Where a preview of the service takes embeddings from is kept, and nothing is fetched from there.
fn check_source(embedding: &VectorEmbedding) -> Result<(), Failure> {
    let auth = embedding.extra.get("embeddingSource").and_then(|source| source.get("authType"));
    let known = |auth: &str| {
        ["entra", "apikey", "managedidentity"].iter().any(|name| name.eq_ignore_ascii_case(auth))
    };
    match auth.map(|auth| auth.as_str().is_some_and(known)) {
        Some(false) => refused("The auth type provided in the embedding source of vector policy is invalid."),
        Some(true) | None => Ok(()),
    }
}

fn check_vector_index(index: &VectorIndex, embeddings: &[VectorEmbedding]) -> Result<(), Failure> {
    let path = &index.path;
    let Some(embedding) = embeddings.iter().find(|embedding| embedding.path == *path) else {
        return refused(format!(
            "The Vector Indexing Policy's path::{path} not matching in Embedding's path."
        ));
    };
    match &index.kind {
        VectorIndexType::Other(name) => {
            return refused(format!("The Vector Indexing Policy's Index Type::{name} is invalid."));
        }
        VectorIndexType::Flat if embedding.dimensions() > MAX_FLAT_DIMENSIONS => {
            return refused(format!(
                "The Vector Indexing Policy's Index Type::flat takes at most {MAX_FLAT_DIMENSIONS} dimensions, not {}.",
                embedding.dimensions()
            ));
        }
        VectorIndexType::Flat | VectorIndexType::QuantizedFlat | VectorIndexType::DiskAnn => {}
    }
    let most = embedding.dimensions().min(MAX_QUANTIZED_BYTES);
    check_range("QuantizationByteSize", index.quantization_byte_size, (1, most))?;
    check_range("IndexingSearchListSize", index.indexing_search_list_size, (25, 500))?;
    check_shards(index.vector_index_shard_key.as_deref().unwrap_or_default())
}

fn check_range(name: &str, value: Option<u32>, (least, most): (i64, i64)) -> Result<(), Failure> {
    match value.map(i64::from).filter(|value| !(least..=most).contains(value)) {
        Some(value) => refused(format!(
            "The Vector Indexing Policy parameter {name} value :: {value} is out of range. The allowed range is between \
             {least} and {most}."
        )),
        None => Ok(()),
    }
}

fn check_shards(paths: &[String]) -> Result<(), Failure> {
    if paths.len() > MAX_SHARD_PATHS {
        let count = paths.len();
        return refused(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {count} exceeds the maximum: \
             {MAX_SHARD_PATHS}."
        ));
    }
    match paths.iter().find(|path| member_path(path).is_none()) {
        Some(path) => refused(format!("The Vector Indexing Policy has an invalid Shard Path: {path}.")),
        None => Ok(()),
    }
}

fn check_full_text(policy: &FullTextPolicy) -> Result<(), Failure> {
    let language =
        |name: &Option<String>| match name.as_deref().filter(|name| Language::of_name(name).is_none()) {
            Some(name) => refused(format!("The full-text policy contains an unsupported language: {name}")),
            None => Ok(()),
        };
    language(&policy.default_language)?;
    policy.full_text_paths.iter().flatten().try_for_each(|text| {
        if member_path(&text.path).is_none() {
            return refused(format!("The full-text policy contains an invalid path: {}", text.path));
        }
        language(&text.language)
    })
}

fn refused(message: impl Into<String>) -> Result<(), Failure> {
    Err(Failure::bad_request(message.into()))
}
