//! What is written down about the provider is what it does.

use std::collections::BTreeSet;
use std::path::Path;

use duroxide_cosmonaut::CosmosProviderConfig;

/// A text between two marks, wherever it occurs in a file of the sources.
fn marked(directory: &Path, mark: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            marked(&path, mark, found);
        } else {
            let source = std::fs::read_to_string(&path).unwrap();
            let after = source.split(mark).skip(1);
            found.extend(after.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
    }
}

#[test]
fn the_page_about_the_format_names_every_kind_of_document() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut kinds = BTreeSet::new();
    for mark in ["const KIND: &'static str = \"", "Self::Cancelled => (\"", "Self::Seen => (\""] {
        marked(&crate_root.join("src"), mark, &mut kinds);
    }
    assert!(kinds.contains("instance") && kinds.contains("seen") && kinds.len() > 10, "{kinds:?}");
    let page = std::fs::read_to_string(crate_root.join("docs/FORMAT.md")).unwrap();
    for kind in kinds {
        let row = if kind == "tombstone" { format!("`{kind}`") } else { format!("| `{kind}` |") };
        assert!(page.contains(&row), "docs/FORMAT.md does not say what a document of type {kind:?} is");
    }
    for constant in ["FORMAT", "SEALED_FORMAT"] {
        let mut version = BTreeSet::new();
        marked(&crate_root.join("src/model"), &format!("const {constant}: u32 = "), &mut version);
        let version = version.first().unwrap().split(';').next().unwrap().to_owned();
        assert!(page.contains(&format!("**{version}**")), "docs/FORMAT.md does not say what {constant} is");
    }
}

/// A query of a task hub asks for the types of that hub: each comparison with a type is rewritten on its way. What is not
/// written in one of these ways would find nothing in a hub, or something of others.
#[test]
fn queries_compare_types_in_ways_that_task_hubs_understand() {
    let mut found = BTreeSet::new();
    marked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "c.type", &mut found);
    let found: Vec<_> = found.into_iter().filter(|after| !after.is_empty()).collect();
    assert!(found.len() > 10, "{found:?}");
    for after in found {
        let known = [" = '", " IN ('", ", ", " AS kind,", ") ", ")"];
        assert!(known.iter().any(|known| after.starts_with(known)), "c.type{after}");
    }
}

#[test]
fn the_example_of_the_environment_is_read_as_it_says() {
    let example = include_str!("../../.env.example");
    let variables: Vec<_> = example.lines().filter_map(|line| line.split_once('=')).collect();
    let value = |name: &str| variables.iter().find(|(known, _)| *known == name).unwrap().1;
    let usual = CosmosProviderConfig::default();
    assert_eq!(value("COSMONAUT_KEY"), cosmonaut_emulator::EMULATOR_KEY);
    assert_eq!(value("COSMONAUT_ENDPOINT"), "http://localhost:8081");
    assert_eq!(
        (value("COSMONAUT_DATABASE"), value("COSMONAUT_CONTAINER")),
        (&*usual.database, &*usual.container)
    );
}
