//! Names as ROS 2 allows them.

/// The frame everything is in.
pub const WORLD: &str = "world";

/// A name as part of a topic or a frame: letters, digits and underscores, beginning with no digit. What else is in it
/// becomes an underscore.
pub fn token(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = name.chars().map(allowed).collect();
    match text.chars().next() {
        Some(first) if !first.is_ascii_digit() => text,
        _ => format!("_{text}"),
    }
}

/// The last part of the name of a message: words joined, each with a capital.
pub fn type_word(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    match joined.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => joined,
        _ => format!("Sensor{joined}"),
    }
}

/// A frame of a robot.
pub fn frame(robot: &str, name: &str) -> String {
    format!("{robot}/{}", token(name))
}

/// The frame of a robot's body.
pub fn base(robot: &str) -> String {
    format!("{robot}/base_link")
}

/// The frame of a sensor: x forward, y left, z up.
pub fn link(robot: &str, sensor: &str) -> String {
    format!("{robot}/{}_link", token(sensor))
}

/// The frame of a camera's images: z forward, x right, y down.
pub fn optical(robot: &str, sensor: &str) -> String {
    format!("{robot}/{}_optical", token(sensor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_only_what_ros_allows() {
        assert_eq!(token("scout-1@2"), "scout_1_2");
        assert_eq!(token("2nd"), "_2nd");
        assert_eq!(token("größe"), "gr__e");
        assert_eq!(token(""), "_");
        assert_eq!(type_word("wheel_encoder"), "WheelEncoder");
        assert_eq!(type_word("3d"), "Sensor3d");
        assert_eq!(link("a", "front laser"), "a/front_laser_link");
    }
}
