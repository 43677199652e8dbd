//! What a container says of its shapes: what their coordinates mean, and which paths have a spatial index.

use cosmonaut_query::Setting;
use cosmonaut_query::spatial::Surface;
use cosmonaut_wire::model::{
    BoundingBox, ContainerProperties, GeospatialConfig, GeospatialType, SpatialIndex, SpatialType,
};

use crate::Failure;
use crate::index::has_old_index;

/// Fills in that coordinates are degrees where nothing else is said; 400 if something unknown is.
pub(super) fn complete_config(config: Option<GeospatialConfig>) -> Result<GeospatialConfig, Failure> {
    let mut config = config.unwrap_or(GeospatialConfig { kind: None, extra: Default::default() });
    match config.kind.get_or_insert(GeospatialType::Geography) {
        GeospatialType::Geography | GeospatialType::Geometry => Ok(config),
        other => Err(Failure::bad_request(format!(
            "The type '{other}' in geospatialConfig is not known. Use 'Geography' or 'Geometry'."
        ))),
    }
}

/// 400 if a spatial index does not go together with the container.
pub(super) fn check_indexes(properties: &ContainerProperties) -> Result<(), Failure> {
    let Some(policy) = &properties.indexing_policy else { return Ok(()) };
    let surface = Setting::of(properties).surface;
    let indexes = policy.spatial_indexes.as_deref().unwrap_or_default();
    for index in indexes {
        check_types(index)?;
        check_box(&index.path, index.bounding_box.as_ref(), surface)?;
    }
    let old = policy.included_paths.iter().flatten().filter(|path| has_old_index(path));
    let old: Vec<&str> = old.map(|path| path.path.as_str()).collect();
    old.iter().try_for_each(|path| check_box(path, None, surface))?;
    let paths = indexes.iter().map(|index| index.path.as_str()).chain(old);
    paths.into_iter().try_for_each(|path| check_stored(path, properties))
}

fn check_types(SpatialIndex { path, types, .. }: &SpatialIndex) -> Result<(), Failure> {
    let types = types.as_deref().unwrap_or_default();
    if types.is_empty() {
        return Err(Failure::bad_request(format!(
            "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for \
             the path {path}."
        )));
    }
    let is_known = |kind: &&SpatialType| {
        use SpatialType::{LineString, MultiPolygon, Point, Polygon};
        matches!(kind, Point | LineString | Polygon | MultiPolygon)
    };
    match types.iter().find(|kind| !is_known(kind)) {
        None => Ok(()),
        Some(unknown) => Err(Failure::bad_request(format!(
            "The spatial type '{unknown}' for the path {path} is not known. Use Point, LineString, Polygon or \
             MultiPolygon."
        ))),
    }
}

fn check_box(path: &str, bounding_box: Option<&BoundingBox>, surface: Surface) -> Result<(), Failure> {
    let problem = match (surface, bounding_box) {
        (Surface::Geography, None) => return Ok(()),
        (Surface::Geography, Some(_)) => {
            "has a boundingBox, which a container of type Geography cannot have. Remove it"
        }
        (Surface::Geometry, None) => {
            "has no boundingBox, which a container of type Geometry must have. Add one"
        }
        (Surface::Geometry, Some(BoundingBox { xmin, ymin, xmax, ymax, .. }))
            if xmin < xmax && ymin < ymax =>
        {
            return Ok(());
        }
        (Surface::Geometry, Some(_)) => {
            "has an empty boundingBox in a container of type Geometry. Set xmin below xmax and ymin below ymax"
        }
    };
    Err(Failure::bad_request(format!("The spatial index for the path {path} {problem}.")))
}

/// 400 if a path leads to a computed property, which no document holds.
fn check_stored(path: &str, properties: &ContainerProperties) -> Result<(), Failure> {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default().trim_matches('"');
    let computed = properties.computed_properties.iter().flatten().enumerate();
    match computed.into_iter().find(|(_, property)| property.name == first) {
        None => Ok(()),
        Some((nth, property)) => Err(Failure::bad_request(format!(
            "Computed property '{}' at index ({nth}) has a spatial index. Remove the spatial index on this path.",
            property.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problem(config: Value, spatial: Value, included: Value) -> Option<String> {
        let properties: ContainerProperties = serde_json::from_value(json!({
            "id": "c",
            "partitionKey": {"paths": ["/pk"]},
            "geospatialConfig": config,
            "computedProperties": [{"name": "x", "query": "SELECT VALUE c.y FROM c"}],
            "indexingPolicy": {"spatialIndexes": spatial, "includedPaths": included},
        }))
        .unwrap();
        check_indexes(&properties).err().map(|failure| failure.message.to_string())
    }

    #[test]
    fn spatial_indexes_go_together_with_their_container() {
        let (globe, plane) = (json!({"type": "Geography"}), json!({"type": "Geometry"}));
        let all = json!(["Point", "LineString", "Polygon", "MultiPolygon"]);
        let with = |path: &str, bounds: Value| json!([{"path": path, "types": all, "boundingBox": bounds}]);
        let bounds = json!({"xmin": -10, "ymin": 0, "xmax": 10, "ymax": 20});
        let old = json!([{"path": "/p/?", "indexes": [{"kind": "Spatial", "dataType": "Point"}]}]);
        for (config, spatial, included, words) in [
            (&globe, json!([{"path": "/p/*", "types": all}]), json!([]), &[][..]),
            (&plane, with("/p/*", bounds.clone()), json!([]), &[]),
            (&globe, json!([]), old.clone(), &[]),
            (&globe, with("/p/*", bounds.clone()), json!([]), &["boundingBox", "Geography"]),
            (&plane, json!([{"path": "/p/*", "types": all}]), json!([]), &["boundingBox", "Geometry"]),
            (&plane, json!([]), old, &["boundingBox", "Geometry"]),
            (
                &plane,
                with("/p/*", json!({"xmin": 0, "ymin": 0, "xmax": 0, "ymax": 0})),
                json!([]),
                &["boundingBox"],
            ),
            (
                &globe,
                json!([{"path": "/p/*", "types": []}]),
                json!([]),
                &[
                    "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for the path /p/*",
                ],
            ),
            (&globe, json!([{"path": "/p/*"}]), json!([]), &["types array cannot be empty"]),
            (&globe, json!([{"path": "/p/*", "types": ["Sphere"]}]), json!([]), &["Sphere"]),
            (
                &globe,
                json!([{"path": "/x/*", "types": all}]),
                json!([]),
                &[
                    "Computed property 'x' at index (0) has a spatial index. Remove the spatial index on this path.",
                ],
            ),
        ] {
            let found = problem(config.clone(), spatial.clone(), included);
            assert_eq!(found.is_none(), words.is_empty(), "{spatial}: {found:?}");
            let found = found.unwrap_or_default();
            assert!(words.iter().all(|word| found.contains(word)), "{spatial}: {found}");
        }
    }

    #[test]
    fn coordinates_are_degrees_unless_something_else_is_said() {
        let read = |config: Value| serde_json::from_value::<GeospatialConfig>(config).unwrap();
        let kind = |config| complete_config(config).map(|config| config.kind.unwrap().to_string());
        assert_eq!(kind(None).unwrap(), "Geography");
        assert_eq!(kind(Some(read(json!({})))).unwrap(), "Geography");
        assert_eq!(kind(Some(read(json!({"type": "Geometry"})))).unwrap(), "Geometry");
        assert!(kind(Some(read(json!({"type": "Flat"})))).unwrap_err().message.contains("Flat"));
    }
}
