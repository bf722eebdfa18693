// Geometry is placed relative to the eye, with axes of the world: corners come as sums of two numbers each, and so does
// the eye, so that nothing is lost far from the origin. Depths follow from the plane of a triangle, not from its corners
// as they are rounded to parts of a pixel.

struct Cascade {
    // rows from the eye's frame to the map: across, along, away from the sun
    rows: array<vec4<f32>, 3>,
    // depth up to which it serves, width of a texel in metres
    reach: vec4<f32>,
}

struct Lamp {
    at: vec4<f32>,
    light: vec4<f32>,
}

struct View {
    // rows of camera_from_world
    turn: array<vec4<f32>, 3>,
    // of the image plane: scale and offset, both across and up
    lens: vec4<f32>,
    // columns, rows, near and far along the viewing axis
    size: vec4<f32>,
    // near and far along a ray, angle between rays, number of cascades
    reach: vec4<f32>,
    towards_sun: vec4<f32>,
    // the last of each: numbers of lamps and of planes
    sun: vec4<f32>,
    ambient: vec4<f32>,
    zenith: vec4<f32>,
    horizon: vec4<f32>,
    cascades: array<Cascade, 4>,
    lamps: array<Lamp, 32>,
    // planes that may keep the sun out: normal, and offset along it
    planes: array<vec4<f32>, 8>,
}

@group(0) @binding(0) var<uniform> view: View;
@group(1) @binding(0) var shadows: texture_depth_2d_array;
@group(1) @binding(1) var shadow_sampler: sampler_comparison;
@group(2) @binding(0) var texture: texture_2d<f32>;
@group(2) @binding(1) var texture_sampler: sampler;

struct Corner {
    @location(0) high: vec3<f32>,
    @location(1) low: vec3<f32>,
    @location(2) normal: vec3<f32>,
    // number of the triangle, and of the thing among those of the instance
    @location(3) ids: vec2<u32>,
    // rows of world_from_solid, and the eye in the frame of the solid
    @location(4) row_x: vec4<f32>,
    @location(5) row_y: vec4<f32>,
    @location(6) row_z: vec4<f32>,
    @location(7) eye_low: vec3<f32>,
    @location(8) first: u32,
}

struct Looks {
    @location(9) normal: vec3<f32>,
    @location(10) uv: vec2<f32>,
    // red, green, blue, and texels a metre
    @location(11) colour: vec4<f32>,
}

fn from_eye(corner: Corner) -> vec3<f32> {
    let eye = vec3(corner.row_x.w, corner.row_y.w, corner.row_z.w);
    return (corner.high - eye) + (corner.low - corner.eye_low);
}

fn to_world(corner: Corner, local: vec3<f32>) -> vec3<f32> {
    return vec3(dot(corner.row_x.xyz, local), dot(corner.row_y.xyz, local), dot(corner.row_z.xyz, local));
}

fn to_camera(at: vec3<f32>) -> vec3<f32> {
    return vec3(dot(view.turn[0].xyz, at), dot(view.turn[1].xyz, at), dot(view.turn[2].xyz, at));
}

fn from_camera(at: vec3<f32>) -> vec3<f32> {
    return view.turn[0].xyz * at.x + view.turn[1].xyz * at.y + view.turn[2].xyz * at.z;
}

// what is near has the greater depth: numbers are finest near zero, which is far away
fn clip(at: vec3<f32>) -> vec4<f32> {
    let near = view.size.z;
    let far = view.size.w;
    return vec4(
        -at.y * view.lens.x + at.x * view.lens.z,
        at.z * view.lens.y + at.x * view.lens.w,
        near * (far - at.x) / (far - near),
        at.x,
    );
}

// the direction of a pixel in the frame of the camera, one metre along its axis
fn towards(pixel: vec2<f32>) -> vec3<f32> {
    let right = 2.0 * pixel.x / view.size.x - 1.0;
    let up = 1.0 - 2.0 * pixel.y / view.size.y;
    return vec3(1.0, -(right - view.lens.z) / view.lens.x, (up - view.lens.w) / view.lens.y);
}

struct Seen {
    @builtin(position) position: vec4<f32>,
    // normal in the frame of the camera, and distance of the plane from the eye along it
    @location(0) @interpolate(flat) plane: vec4<f32>,
    @location(1) @interpolate(flat) ids: vec2<u32>,
    @location(2) depth: f32,
}

// beside an outline the middle of a pixel may lie outside of the triangle, where its plane is anywhere
fn depth_of(plane: vec4<f32>, direction: vec3<f32>, drawn: f32) -> f32 {
    let depth = plane.w / dot(plane.xyz, direction);
    let clamped = clamp(drawn, view.size.z, view.size.w);
    return select(clamped, depth, abs(depth - clamped) < 0.05 * clamped);
}

struct Geometry {
    @location(0) depth: f32,
    @location(1) ids: vec2<u32>,
}

@vertex
fn place(corner: Corner) -> Seen {
    let local = from_eye(corner);
    let at = to_camera(to_world(corner, local));
    var seen: Seen;
    seen.position = clip(at);
    seen.plane = vec4(to_camera(to_world(corner, corner.normal)), dot(corner.normal, local));
    seen.ids = vec2(corner.first + corner.ids.y, corner.ids.x);
    seen.depth = at.x;
    return seen;
}

@fragment
fn geometry(seen: Seen) -> Geometry {
    return Geometry(depth_of(seen.plane, towards(seen.position.xy), seen.depth), seen.ids);
}

// A plane without an end: everywhere in the picture, each pixel at its depth.
struct Ground {
    // rows of plane_from_world, and the eye in the frame of the plane, along its surface modulo the texture
    @location(0) row_x: vec4<f32>,
    @location(1) row_y: vec4<f32>,
    @location(2) row_z: vec4<f32>,
    @location(3) colour: vec4<f32>,
    // textures a metre
    @location(4) per_m: f32,
    @location(5) id: u32,
}

struct SeenGround {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) row_x: vec4<f32>,
    @location(1) @interpolate(flat) row_y: vec4<f32>,
    @location(2) @interpolate(flat) row_z: vec4<f32>,
    @location(3) @interpolate(flat) colour: vec4<f32>,
    @location(4) @interpolate(flat) per_m: f32,
    @location(5) @interpolate(flat) id: u32,
}

fn everywhere(corner: u32) -> vec4<f32> {
    return vec4(f32(corner & 1u) * 4.0 - 1.0, f32(corner >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

@vertex
fn place_ground(@builtin(vertex_index) corner: u32, ground: Ground) -> SeenGround {
    return SeenGround(
        everywhere(corner), ground.row_x, ground.row_y, ground.row_z, ground.colour, ground.per_m, ground.id
    );
}

struct GroundGeometry {
    @location(0) depth: f32,
    @location(1) ids: vec2<u32>,
    @builtin(frag_depth) nearness: f32,
}

fn ground_depth(seen: SeenGround, direction: vec3<f32>) -> f32 {
    return -seen.row_z.w / dot(seen.row_z.xyz, from_camera(direction));
}

fn nearness(depth: f32) -> f32 {
    let near = view.size.z;
    let far = view.size.w;
    return near * (far - depth) / ((far - near) * depth);
}

@fragment
fn ground_geometry(seen: SeenGround) -> GroundGeometry {
    let depth = ground_depth(seen, towards(seen.position.xy));
    if !(depth >= view.size.z && depth <= view.size.w) {
        discard;
    }
    return GroundGeometry(depth, vec2(seen.id, 0u), nearness(depth));
}

// Colours.

struct SeenLooks {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) plane: vec4<f32>,
    @location(1) @interpolate(flat) ids: vec2<u32>,
    @location(2) depth: f32,
    @location(3) normal: vec3<f32>,
    @location(4) uv: vec2<f32>,
    @location(5) @interpolate(flat) colour: vec4<f32>,
}

struct Film {
    @location(0) light: vec4<f32>,
    // normal, and depth along the viewing axis
    @location(1) surface: vec4<f32>,
    @location(2) ids: vec2<u32>,
}

struct GroundFilm {
    @location(0) light: vec4<f32>,
    @location(1) surface: vec4<f32>,
    @location(2) ids: vec2<u32>,
    @builtin(frag_depth) nearness: f32,
}

@vertex
fn place_looks(corner: Corner, looks: Looks) -> SeenLooks {
    let local = from_eye(corner);
    let at = to_camera(to_world(corner, local));
    var seen: SeenLooks;
    seen.position = clip(at);
    seen.plane = vec4(to_camera(to_world(corner, corner.normal)), dot(corner.normal, local));
    seen.ids = vec2(corner.first + corner.ids.y, corner.ids.x);
    seen.depth = at.x;
    seen.normal = to_world(corner, looks.normal);
    seen.uv = looks.uv;
    seen.colour = looks.colour;
    return seen;
}

// How much of the sun reaches a point; texels of the map are about as large as pixels.
fn sunlight(at: vec3<f32>, normal: vec3<f32>, shine: f32, depth: f32, distance: f32) -> f32 {
    let lift = 2e-3 + 1e-5 * distance;
    let lifted = at + normal * lift;
    for (var k = 0u; k < u32(view.ambient.w); k++) {
        let plane = view.planes[k];
        if (plane.w - dot(plane.xyz, lifted)) * dot(plane.xyz, view.towards_sun.xyz) > 0.0 {
            return 0.0;
        }
    }
    let count = u32(view.reach.w);
    for (var k = 0u; k < count; k++) {
        let cascade = view.cascades[k];
        if depth > cascade.reach.x {
            continue;
        }
        // along a slanted surface the texels of the map are steps: what is lit is lifted above them
        let slant = sqrt(max(0.0, 1.0 - shine * shine));
        let place = vec4(lifted + normal * (1.5 * cascade.reach.y * slant), 1.0);
        let ndc = vec3(dot(cascade.rows[0], place), dot(cascade.rows[1], place), dot(cascade.rows[2], place));
        let uv = vec2(0.5 + 0.5 * ndc.x, 0.5 - 0.5 * ndc.y);
        return textureSampleCompareLevel(shadows, shadow_sampler, uv, k, ndc.z);
    }
    return 1.0;
}

fn lit(colour: vec3<f32>, at: vec3<f32>, outward: vec3<f32>, direction: vec3<f32>, depth: f32, distance: f32) -> vec3<f32> {
    // of what is seen from inside, the inside is lit
    let normal = select(outward, -outward, dot(outward, direction) > 0.0);
    let shine = dot(normal, view.towards_sun.xyz);
    var light = view.ambient.xyz * (0.75 + 0.25 * normal.z);
    if shine > 0.0 && max(view.sun.x, max(view.sun.y, view.sun.z)) > 0.0 {
        light += view.sun.xyz * (shine * sunlight(at, normal, shine, depth, distance));
    }
    for (var k = 0u; k < u32(view.sun.w); k++) {
        let way = view.lamps[k].at.xyz - at;
        let square = max(dot(way, way), 1e-4);
        light += view.lamps[k].light.xyz * (max(0.0, dot(normal, way)) / (square * sqrt(square)));
    }
    return light * colour;
}

// The texture as a pixel sees it that covers so many texels: the level whose texels are about as large.
fn textured(uv: vec2<f32>, covered: f32) -> vec3<f32> {
    let level = max(0.0, floor(log2(max(covered, 1e-9) * 1.4142135)));
    return textureSampleLevel(texture, texture_sampler, vec2(uv.x, 1.0 - uv.y), level).xyz;
}

fn covered(normal: vec3<f32>, direction: vec3<f32>, distance: f32, texels_per_m: f32) -> f32 {
    let facing = max(abs(dot(normal, direction)), 0.05);
    return distance * view.reach.z * sqrt(1.0 / facing) * texels_per_m;
}

@fragment
fn film(seen: SeenLooks) -> Film {
    let towards = towards(seen.position.xy);
    let depth = depth_of(seen.plane, towards, seen.depth);
    let stretch = length(towards);
    let distance = depth * stretch;
    if !(distance >= view.reach.x && distance <= view.reach.y) {
        discard;
    }
    let direction = from_camera(towards) / stretch;
    let normal = normalize(seen.normal);
    let colour = seen.colour.xyz * textured(seen.uv, covered(normal, direction, distance, seen.colour.w));
    let light = lit(colour, direction * distance, normal, direction, depth, distance);
    return Film(vec4(light, 1.0), vec4(normal, depth), seen.ids);
}

@fragment
fn ground_film(seen: SeenGround) -> GroundFilm {
    let towards = towards(seen.position.xy);
    let depth = ground_depth(seen, towards);
    let stretch = length(towards);
    let distance = depth * stretch;
    if !(depth >= view.size.z && depth <= view.size.w && distance >= view.reach.x && distance <= view.reach.y) {
        discard;
    }
    let direction = from_camera(towards) / stretch;
    let at = direction * distance;
    let normal = seen.row_z.xyz;
    let place = vec2(seen.row_x.w + dot(seen.row_x.xyz, at), seen.row_y.w + dot(seen.row_y.xyz, at));
    let uv = vec2(0.5) + place * seen.per_m;
    let colour = seen.colour.xyz * textured(uv, covered(normal, direction, distance, seen.colour.w));
    let light = lit(colour, at, normal, direction, depth, distance);
    return GroundFilm(vec4(light, 1.0), vec4(normal, depth), vec2(seen.id, 0u), nearness(depth));
}

@vertex
fn place_sky(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4<f32> {
    return everywhere(corner);
}

@fragment
fn sky(@builtin(position) position: vec4<f32>) -> Film {
    let up = normalize(from_camera(towards(position.xy))).z;
    let share = select(0.0, up / (up + 0.25) * 1.25, up > 0.0);
    return Film(vec4(mix(view.horizon.xyz, view.zenith.xyz, share), 1.0), vec4(0.0), vec2(0u));
}

// Shadows: depth from the sun.

@group(0) @binding(1) var<uniform> cascade: Cascade;

@vertex
fn cast_shadow(corner: Corner) -> @builtin(position) vec4<f32> {
    let at = vec4(to_world(corner, from_eye(corner)), 1.0);
    return vec4(dot(cascade.rows[0], at), dot(cascade.rows[1], at), dot(cascade.rows[2], at), 1.0);
}
