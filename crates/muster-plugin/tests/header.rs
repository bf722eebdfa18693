//! The header says what the structs in Rust say: every size and every offset, by the machine's own C compiler.

use muster_plugin::abi;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

macro_rules! structs {
    ($($name:ident),*) => {
        [$((stringify!($name), size_of::<abi::$name>(), abi::$name::OFFSETS)),*]
    };
}

#[test]
fn the_header_and_the_structs_agree() {
    let structs = structs!(
        MusterCall,
        MusterField,
        MusterValue,
        MusterConfig,
        MusterQuantity,
        MusterReading,
        MusterControl,
        MusterMeasure,
        MusterLook,
        MusterHit,
        MusterSample,
        MusterAdvance,
        MusterWindow,
        MusterKind,
        MusterPlugin,
        MusterHost
    );
    let mut source = "#include \"muster_plugin.h\"\n#include <stddef.h>\n".to_owned();
    let mut check = |condition: String| _ = writeln!(source, "_Static_assert({condition}, \"{condition}\");");
    for (name, size, offsets) in structs {
        check(format!("sizeof({name}) == {size}"));
        for (member, offset) in offsets {
            check(format!("offsetof({name}, {}) == {offset}", member.trim_start_matches("r#")));
        }
    }
    let constants = [
        ("MUSTER_ABI", abi::ABI),
        ("MUSTER_LANES", abi::LANES as u32),
        ("MUSTER_DRIVER", abi::DRIVER),
        ("MUSTER_EXTENSION", abi::EXTENSION),
        ("MUSTER_NUMBERS", abi::NUMBERS),
        ("MUSTER_FIXED", abi::FIXED),
        ("MUSTER_VELOCITY", muster_plugin::body::VELOCITY as u32),
        ("MUSTER_CONTACT_FORCE", muster_plugin::body::CONTACT_FORCE as u32),
        ("MUSTER_SETPOINT", muster_plugin::body::SETPOINT as u32),
        ("MUSTER_BODY_COLUMNS", muster_plugin::body::COLUMNS as u32),
    ];
    for (name, value) in constants {
        check(format!("{name} == {value}"));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("layout.c");
    std::fs::write(&file, source).expect("a file");
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", include])
        .arg(&file)
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
