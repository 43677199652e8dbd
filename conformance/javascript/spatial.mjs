// Shapes on the globe and on the plane, through plans and merges, with spatial indexes and without.

import { check, equal, fails, ok, same } from "./harness.mjs";

const types = ["Point", "LineString", "Polygon", "MultiPolygon"];
const boundingBox = { xmin: -100, ymin: -100, xmax: 100, ymax: 100 };
const point = (...coordinates) => ({ type: "Point", coordinates });
const polygon = (...rings) => ({ type: "Polygon", coordinates: rings.map((ring) => [...ring, ring[0]]) });
const box = polygon([[-60, 20], [70, 20], [70, 70], [-60, 70]]);
const withIndex = (index) => ({ indexingPolicy: { includedPaths: [{ path: "/*" }], spatialIndexes: [index] } });
const plane = { geospatialConfig: { type: "Geometry" } };
const surfaces = {
  globe: [{}, withIndex({ path: "/shape/*", types })],
  plane: [plane, { ...plane, ...withIndex({ path: "/shape/*", types, boundingBox }) }],
};

const ask = async (container, condition, shape) => {
  const query = { query: `SELECT VALUE c.id FROM c WHERE ${condition}`, parameters: [{ name: "@shape", value: shape }] };
  return (await container.items.query(query).fetchAll()).resources;
};

/** A container of several partitions with these shapes, each under its name. */
const shapes = async (account, options, named) => {
  const container = await account.container({ throughput: 12000, ...options });
  for (const [id, shape] of Object.entries(named)) await container.items.create({ id, pk: id, shape });
  return container;
};

check("spatial conditions mean what the surface says", async (account) => {
  const named = {
    north: point(0, 40),
    line: { type: "LineString", coordinates: [[0, 0], [0, 40]] },
    far: point(-90, -80),
    wrong: polygon([[-1000, 1000], [1000, 1000], [1000, 4000], [-1000, 4000]]),
    nothing: null,
  };
  for (const [surface, variants] of Object.entries(surfaces)) {
    for (const options of variants) {
      const container = await shapes(account, options, named);
      const onPlane = surface === "plane";
      same(await ask(container, "ST_WITHIN(c.shape, @shape)", box), onPlane ? ["north"] : []);
      same(await ask(container, "ST_INTERSECTS(@shape, c.shape)", box), onPlane ? ["north", "line"] : []);
      same(await ask(container, "ST_ISVALID(c.shape)", box), ["north", "line", "far", ...(onPlane ? ["wrong"] : [])]);
      const near = onPlane ? 10 : 1_000_000;
      same(await ask(container, `ST_DISTANCE(c.shape, @shape) < ${near}`, point(0, 45)), ["north", "line"]);
    }
  }
});

check("spatial distances in units of the plane", async (account) => {
  const holed = polygon([[35, 10], [45, 45], [15, 40], [10, 20]], [[20, 30], [35, 35], [30, 20]]);
  const container = await shapes(account, plane, { holed });
  const query = (expression) => ({
    query: `SELECT VALUE ${expression} FROM c`,
    parameters: [{ name: "@shape", value: point(30, 10) }],
  });
  const value = async (expression) => (await container.items.query(query(expression)).fetchAll()).resources[0];
  ok(Math.abs((await value("ST_DISTANCE(c.shape, @shape)")) - 1.857) < 0.001);
  equal(await value("ST_AREA({type: 'Polygon', coordinates: [[[0,0],[3,0],[3,2],[0,2],[0,0]]]})"), 6);
  equal((await container.read()).resource.geospatialConfig, { type: "Geometry" });
});

check("spatial order of pages and ends of partitions", async (account) => {
  const named = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, point(n / 100, n / 100)]));
  const container = await shapes(account, surfaces.globe[1], named);
  const query = {
    query: "SELECT c.id, c.shape FROM c WHERE ST_DISTANCE(c.shape, @shape) < 40000 ORDER BY c.id",
    parameters: [{ name: "@shape", value: point(0, 0) }],
  };
  const iterator = container.items.query(query, { maxItemCount: 7 });
  const ids = [];
  while (iterator.hasMoreResults()) ids.push(...((await iterator.fetchNext()).resources ?? []).map((row) => row.id));
  const within = Object.keys(named).filter((id) => Number(id.slice(1)) < 26);
  equal(ids, within.sort());
});

check("spatial indexes go together with their container", async (account) => {
  const said = async (options) => (await fails(400, () => account.container(options))).message;
  const onPlane = await said({ ...plane, ...withIndex({ path: "/shape/*", types }) });
  ok(onPlane.includes("boundingBox") && onPlane.includes("Geometry"), onPlane);
  const onGlobe = await said(withIndex({ path: "/shape/*", types, boundingBox }));
  ok(onGlobe.includes("boundingBox") && onGlobe.includes("Geography"), onGlobe);
  const computedProperties = [{ name: "x", query: "SELECT VALUE c.shape FROM c" }];
  const computed = await said({ computedProperties, ...withIndex({ path: "/x/*", types }) });
  ok(computed.includes("Computed property 'x' at index (0) has a spatial index."), computed);
  const container = await account.container(surfaces.plane[1]);
  const { resource } = await container.read();
  equal(resource.indexingPolicy.spatialIndexes, [{ path: "/shape/*", types, boundingBox }]);
  const { geospatialConfig, ...globe } = { ...resource, indexingPolicy: surfaces.globe[1].indexingPolicy };
  equal((await container.replace(globe)).resource.geospatialConfig, { type: "Geography" });
});
