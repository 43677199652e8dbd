"""langchain-azure-cosmosdb: a vector store with full text, in the emulator at COSMOS_ENDPOINT."""

import os
import sys

from azure.cosmos import CosmosClient, PartitionKey
from langchain_azure_cosmosdb import AzureCosmosDBNoSqlVectorSearch
from langchain_core.embeddings import Embeddings

WORDS = ["sea", "mountain", "city"]
TEXTS = {
    "a": "The sea was calm, and the sea was wide.",
    "b": "Mountains rise behind the city.",
    "c": "A city by the sea.",
    "d": "Nothing of the kind.",
}


class Counting(Embeddings):
    """How often a text has each of the words."""

    def embed_query(self, text):
        return [float(text.lower().count(word)) for word in WORDS] + [0.1]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


def equal(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def store(client, name):
    embedding = {"path": "/vector", "dataType": "float32", "dimensions": 4, "distanceFunction": "cosine"}
    return AzureCosmosDBNoSqlVectorSearch(
        cosmos_client=client,
        embedding=Counting(),
        vector_embedding_policy={"vectorEmbeddings": [embedding]},
        full_text_policy={
            "defaultLanguage": "en-US",
            "fullTextPaths": [{"path": "/text", "language": "en-US"}],
        },
        indexing_policy={
            "indexingMode": "consistent",
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/vector/*"}],
            "vectorIndexes": [{"path": "/vector", "type": "diskANN"}],
            "fullTextIndexes": [{"path": "/text"}],
        },
        cosmos_container_properties={"partition_key": PartitionKey("/id")},
        cosmos_database_properties={},
        vector_search_fields={"text_field": "text", "embedding_field": "vector"},
        full_text_search_enabled=True,
        database_name=name,
    )


def main():
    client = CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"])
    name = f"vectors-{os.getpid()}"
    vectors = store(client, name)
    vectors.add_texts(list(TEXTS.values()), metadatas=[{"of": key} for key in TEXTS], ids=list(TEXTS))
    ids = lambda documents: [document.metadata["id"] for document in documents]  # noqa: E731

    scored = vectors.similarity_search_with_score("sea", k=3)
    equal(ids(document for document, _ in scored)[:2], ["a", "c"])
    equal([round(score, 6) for _, score in scored][:2], [0.998765, 0.708864])
    equal(scored[0][0].metadata["of"], "a")
    near = vectors.similarity_search("sea", k=4, search_type="vector_score_threshold", threshold=0.7)
    equal(ids(near), ["a", "c"])
    only = vectors.similarity_search("sea", k=4, where="c.metadata['of'] != 'a'")
    equal(ids(only)[0], "c")

    def words(text, **options):
        ranked = [{"search_field": "text", "search_text": text}]
        return ids(vectors.similarity_search(text, full_text_rank_filter=ranked, **options))

    found = vectors.similarity_search(
        "city", search_type="full_text_search", where="FullTextContains(c.text, 'mountain')"
    )
    equal(ids(found), ["b"])
    equal(words("city", search_type="full_text_ranking", k=2), ["c", "b"])
    equal(words("sea city", search_type="hybrid", k=3)[0], "c")
    equal(words("sea city", search_type="hybrid", k=1, weights=[1.0, 2.0]), ["c"])
    equal(words("sea", search_type="hybrid", k=4, offset_limit="OFFSET 1 LIMIT 1"), ["c"])

    vectors.delete(["c"])
    equal(sorted(ids(vectors.similarity_search("sea", k=4))), ["a", "b", "d"])
    client.delete_database(name)


if __name__ == "__main__":
    sys.exit(main())
