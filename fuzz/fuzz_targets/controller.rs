//! Lines of controllers: requests in text, lines that fit templates, and templates themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_links::controller::template::Template;
use muster_links::controller::text::{self, Request};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut values = Vec::new();
    let known = ["J <a> <b:deg>", "<a>,<b>,<c=1>", "ä<a>é <>"].map(|known| Template::parse(known).expect("a template"));
    for line in text.lines() {
        if let Some(request) = Request::parse(line) {
            let mut answer = String::new();
            if let Err(what) = request.verb {
                text::error(&request.tag, &what, &mut answer);
                assert!(answer.ends_with('\n') && answer.matches('\n').count() == 1 && answer.len() < 1000);
            }
        }
        for template in &known {
            _ = template.read(line, &mut values);
            assert_eq!(values.len(), template.slots.len());
        }
    }
    // a template that is right reads what it wrote
    if let Some((head, _)) = text.split_once('\n')
        && let Ok(template) = Template::parse(head)
    {
        let mut line = String::new();
        template.write(|_| &[1.5], &mut line);
        _ = template.read(&line, &mut values);
    }
});
