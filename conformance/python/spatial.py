"""Shapes: distances, what is within what, validity, and spatial indexes that are used."""

import json

from harness import check, equal, fails, has, headers_of, same

TYPES = ["Point", "LineString", "Polygon", "MultiPolygon"]
PLACES = {
    "Redmond": [-122.11758113953535, 47.66901087006131],
    "Bellevue": [-122.12826822304672, 47.63980239335718],
    "Fargo": [-96.84368664765994, 46.81297794314663],
    "Suva": [178.44, -18.14],
    "Apia": [-171.77, -13.83],
}


def point(longitude, latitude):
    return {"type": "Point", "coordinates": [longitude, latitude]}


def policy(*indexes):
    return {"includedPaths": [{"path": "/*"}], "excludedPaths": [], "spatialIndexes": list(indexes)}


def places(account, **options):
    container = account.container(offer_throughput=12000, **options)
    for name, position in PLACES.items():
        container.create_item({"id": name, "pk": name, "location": point(*position)})
    return container


def ask(container, condition, shape, **options):
    query = f"SELECT VALUE c.id FROM c WHERE {condition}"
    parameters = [{"name": "@shape", "value": shape}]
    return container.query_items(query, parameters=parameters, enable_cross_partition_query=True, **options)


def value(container, expression):
    container.upsert_item({"id": "only", "pk": "only"})
    (found,) = container.query_items(f"SELECT VALUE {expression} FROM c WHERE c.id = 'only'", partition_key="only")
    return found


INDEXED = policy({"path": "/location/*", "types": TYPES})


@check
def distances_are_those_of_the_service(account):
    container = places(account)
    query = "SELECT c.id, ST_DISTANCE(c.location, @here) AS far FROM c WHERE c.id IN ('Bellevue', 'Fargo')"
    parameters = [{"name": "@here", "value": point(*PLACES["Redmond"])}]
    found = container.query_items(query, parameters=parameters, enable_cross_partition_query=True)
    far = {row["id"]: row["far"] for row in found}
    for name, expected in [("Bellevue", 3345.269817267368), ("Fargo", 1907438.421299902)]:
        assert abs(far[name] - expected) < 3e-8 * expected, far
    ring = [[31.8, -5], [32, -5], [32, -4.7], [31.8, -4.7], [31.8, -5]]
    area = value(container, f"ST_AREA({json.dumps({'type': 'Polygon', 'coordinates': [ring]})})")
    assert abs(area - 735970283.0522614) < 1, area


@check
def places_are_found_with_and_without_an_index(account):
    around_fiji = [[170, -30], [-165, -30], [-165, -5], [170, -5], [170, -30]]
    across = {"type": "Polygon", "coordinates": [around_fiji]}
    for options in [{}, {"indexing_policy": INDEXED}]:
        container = places(account, **options)
        near = point(*PLACES["Redmond"])
        same(ask(container, "ST_DISTANCE(c.location, @shape) < 5000", near), ["Redmond", "Bellevue"])
        same(ask(container, "2000000 >= ST_DISTANCE(@shape, c.location)", near), ["Redmond", "Bellevue", "Fargo"])
        same(ask(container, "ST_WITHIN(c.location, @shape)", across), ["Suva", "Apia"])
        same(ask(container, "ST_INTERSECTS(@shape, c.location)", across), ["Suva", "Apia"])
        everything_else = {"type": "Polygon", "coordinates": [around_fiji[::-1]]}
        same(ask(container, "ST_WITHIN(c.location, @shape)", everything_else), ["Redmond", "Bellevue", "Fargo"])
        container.delete_item("Suva", "Suva")
        same(ask(container, "ST_WITHIN(c.location, @shape)", across), ["Apia"])


@check
def an_index_is_named_by_the_metrics(account):
    near = point(*PLACES["Redmond"])
    for options, member in [({}, "Potential"), ({"indexing_policy": INDEXED}, "Utilized")]:
        container = places(account, **options)
        found, headers = headers_of(
            lambda hook, container=container: list(
                container.query_items(
                    "SELECT * FROM c WHERE ST_DISTANCE(c.location, @shape) < 5",
                    parameters=[{"name": "@shape", "value": near}],
                    partition_key="Redmond",
                    populate_index_metrics=True,
                    response_hook=hook,
                )
            )
        )
        equal([item["id"] for item in found], ["Redmond"])
        metrics = headers["x-ms-cosmos-index-utilization"]
        assert "/location/*" in [index["IndexSpec"] for index in metrics[f"{member}SingleIndexes"]], metrics


@check
def validity_has_a_reason(account):
    container = account.container()
    valid, invalid = json.dumps(point(-84.4, 33.7)), json.dumps(point(133.7, -184.4))
    equal(value(container, f"ST_ISVALID({valid})"), True)
    equal(value(container, f"ST_ISVALID({invalid})"), False)
    equal(value(container, f"ST_ISVALIDDETAILED({valid})"), {"valid": True})
    reason = "Latitude values must be between -90 and 90 degrees."
    equal(value(container, f"ST_ISVALIDDETAILED({invalid})"), {"valid": False, "reason": reason})


@check
def spatial_indexes_read_back_as_written_and_are_checked(account):
    properties = places(account, indexing_policy=INDEXED).read()
    equal(properties["indexingPolicy"]["spatialIndexes"], INDEXED["spatialIndexes"])
    has(properties["geospatialConfig"], type="Geography")
    old = [{"path": "/*"}, {"path": "/p/?", "indexes": [{"kind": "Spatial", "dataType": "Point"}]}]
    found = account.container(indexing_policy={"includedPaths": old}).read()["indexingPolicy"]["includedPaths"]
    equal(found[1], old[1])
    with fails(400, words="The spatial data types array cannot be empty."):
        account.container(indexing_policy=policy({"path": "/location/*", "types": []}))
    box = {"xmin": 0, "ymin": 0, "xmax": 10, "ymax": 10}
    with fails(400, words="boundingBox"):
        account.container(indexing_policy=policy({"path": "/location/*", "types": TYPES, "boundingBox": box}))
