//! Functions of shapes: the published results, and what is valid.

use cosmonaut_query::eval::{Environment, Limits, Program};
use cosmonaut_query::spatial::Surface;
use cosmonaut_query::value::Value;
use cosmonaut_query::{Parameters, Setting, parse};

use crate::harness::check;

const HOME: &str = "{'type':'Point','coordinates':[-122.11758113953535, 47.66901087006131]}";
const BOX: &str = "{'type':'Polygon','coordinates':[[[-60,20],[70,20],[70,70],[-60,70],[-60,20]]]}";
const LARGE: &str =
    "{'type':'Polygon','coordinates':[[[-1000,1000],[1000,1000],[1000,4000],[-1000,4000],[-1000,1000]]]}";
const WITH_HOLE: &str = "{'type':'Polygon','coordinates':[[[35,10],[45,45],[15,40],[10,20],[35,10]],[[20,30],[35,35],[30,20],[20,30]]]}";

fn value(surface: Surface, expression: &str) -> Value {
    let query = parse(&format!("SELECT VALUE {expression} FROM c")).unwrap();
    let environment = Environment {
        now_ticks: 0,
        random: &|| 0.0,
        limits: Limits::default(),
        computed: &[],
        setting: &Setting { surface, ..Setting::default() },
    };
    Program::compile(&query, &Parameters::new(), &environment).unwrap().value_of(b"{}").unwrap()
}

#[test]
fn published_measures_are_computed() {
    let near = "{'type':'Point','coordinates':[-122.12826822304672, 47.63980239335718]}";
    let far = "{'type':'Point','coordinates':[-96.84368664765994, 46.81297794314663]}";
    let ring = "{'type':'Polygon','coordinates':[[[31.8,-5],[32,-5],[32,-4.7],[31.8,-4.7],[31.8,-5]]]}";
    let beside = "{'type':'Point','coordinates':[30,10]}";
    for (surface, call, expected, off) in [
        (Surface::Geography, format!("ST_DISTANCE({HOME}, {near})"), 3345.269817267368, 3e-8),
        (Surface::Geography, format!("ST_DISTANCE({HOME}, {far})"), 1907438.421299902, 3e-11),
        (Surface::Geography, format!("ST_AREA({ring})"), 735970283.0522614, 1e-10),
        (Surface::Geography, format!("ST_DISTANCE({WITH_HOLE}, {beside})"), 230282.0, 5e-6),
        (Surface::Geometry, format!("ST_DISTANCE({WITH_HOLE}, {beside})"), 1.857, 1e-4),
    ] {
        let Value::Number(found) = value(surface, &call) else { panic!("{call} has no result") };
        assert!((found - expected).abs() <= off * expected, "{surface:?}: {call} is {found}, not {expected}");
    }
}

#[test]
fn published_relations_depend_on_the_surface() {
    let north = "{'type':'Point','coordinates':[0,40]}";
    let line = "{'type':'LineString','coordinates':[[0,0],[0,40]]}";
    for (call, on_globe, on_plane) in [
        (format!("ST_WITHIN({north}, {BOX})"), false, true),
        (format!("ST_INTERSECTS({line}, {BOX})"), false, true),
        (format!("ST_ISVALID({LARGE})"), false, true),
    ] {
        assert_eq!(value(Surface::Geography, &call), Value::Bool(on_globe), "{call}");
        assert_eq!(value(Surface::Geometry, &call), Value::Bool(on_plane), "{call}");
    }
}

#[test]
fn what_is_no_valid_shape_has_no_result() {
    let there = "{'type':'Point','coordinates':[1,1]}";
    for wrong in [
        "undefined",
        "null",
        "5",
        "'Point'",
        "[1,1]",
        "{}",
        "{'type':'Point'}",
        "{'type':'Point','coordinates':[1]}",
        "{'type':'Point','coordinates':[1,'1']}",
        "{'type':'Point','coordinates':[1,91]}",
        "{'type':'Point','coordinates':[181,1]}",
        "{'type':'point','coordinates':[1,1]}",
        "{'type':'MultiPoint','coordinates':[[1,1]]}",
    ] {
        for function in ["ST_DISTANCE", "ST_WITHIN", "ST_INTERSECTS"] {
            check(&[(&format!("{function}({wrong}, {there})"), "undefined")]);
            check(&[(&format!("{function}({there}, {wrong})"), "undefined")]);
        }
        check(&[(&format!("ST_AREA({wrong})"), "undefined")]);
        let expected = if wrong == "undefined" { "undefined" } else { "false" };
        check(&[(&format!("ST_ISVALID({wrong})"), expected)]);
    }
}

#[test]
fn details_say_what_is_wrong() {
    let polygon = |rings: &str| format!("{{'type':'Polygon','coordinates':{rings}}}");
    for (shape, reason) in [
        (
            "{'type':'Point','coordinates':[133.75682784306348,-184.38876194345323]}".to_owned(),
            "Latitude values must be between -90 and 90 degrees.",
        ),
        (
            "{'type':'Point','coordinates':[-200,1]}".to_owned(),
            "Longitude values must be between -180 and 180 degrees.",
        ),
        ("{'type':'LineString','coordinates':[[1,1]]}".to_owned(), "fewer than two positions"),
        (polygon("[]"), "no ring"),
        (polygon("[[[0,0],[1,0],[0,0]]]"), "ring number 1 has fewer than four positions"),
        (polygon("[[[0,0],[1,0],[0,1],[1,1]]]"), "start and end points of ring number 1"),
        (polygon("[[[0,0],[1,0],[1,0],[0,0]]]"), "fewer than three different positions"),
        (polygon("[[[0,0],[2,2],[2,0],[0,2],[0,0]]]"), "crosses"),
        (polygon("[[[0,0],[4,0],[2,0],[0,0]]]"), "overlaps"),
        (
            polygon("[[[0,0],[2,0],[0,2],[0,0]],[[5,5],[6,5],[5,6],[5,5]]]"),
            "ring number 2 is not inside ring number 1",
        ),
        (polygon("[[[0,0],[180,0],[90,45],[0,0]]]"), "opposite sides"),
        ("{'type':'MultiPolygon','coordinates':[]}".to_owned(), "no polygon"),
        ("7".to_owned(), "not a GeoJSON object"),
    ] {
        let found = value(Surface::Geography, &format!("ST_ISVALIDDETAILED({shape})"));
        assert_eq!(found.get("valid"), Some(&Value::Bool(false)), "{shape}");
        let Some(Value::String(text)) = found.get("reason") else { panic!("{shape}: no reason") };
        assert!(text.contains(reason), "{shape}: {text}");
    }
    for shape in [
        "{'type':'Point','coordinates':[-84.38876194345323,33.75682784306348,120]}",
        "{'type':'Point','coordinates':[1,2],'crs':{'type':'name'},'bbox':[0,0,3,3]}",
        "{'type':'LineString','coordinates':[[1,1],[2,2]]}",
        BOX,
        WITH_HOLE,
    ] {
        check(&[(&format!("ST_ISVALIDDETAILED({shape})"), r#"{"valid":true}"#)]);
    }
    check(&[("ST_ISVALIDDETAILED(undefined)", "undefined")]);
}
