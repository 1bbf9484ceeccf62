//! The web as far as comparisons reach it: two environments of one application, a site that means
//! harm, names that lead inside a network, an address that must never be asked, and a text model.

use std::net::Ipv4Addr;

use thunderhead_sim::outside::{Resolver, TextModel, Website};
use thunderhead_sim::{Cloud, Response};

use super::connector::RESOLVER;
use super::explainer::MODEL;

const PROD: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);
const STAGING: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 15);
const TRAP: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 66);
/// Where a cloud hands its secrets to any caller inside.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// The text model is one of these sites everywhere: there is no other to ask.
pub fn mount(cloud: &mut Cloud) {
    if !cloud.reaches_outside() {
        mount_sites(cloud);
    }
    TextModel::mount(cloud, MODEL);
}

fn mount_sites(cloud: &mut Cloud) {
    Resolver::default()
        .name("prod.example", &[PROD])
        .name("staging.example", &[STAGING])
        .name("trap.example", &[TRAP])
        .name("inside.example", &[METADATA])
        // It shows a public address to those who check, and may show another to those who connect.
        .name("rebind.example", &[TRAP, METADATA])
        .name("empty.example", &[])
        .mount(cloud, RESOLVER);
    let html = |text: &str| Response::new(200, text).with_header("content-type", "text/html");
    let prod = html("Welcome.").with_header("server", "nginx");
    Website::default()
        .page("/", prod.with_header("x-frame-options", "DENY"))
        .redirect("/old", 302, "/new")
        .page("/new", html("Moved."))
        .mount(cloud, &PROD.to_string());
    Website::default()
        .page("/", html("Welcome to staging.").with_header("server", "caddy"))
        .redirect("/old", 302, "https://prod.example/new")
        .mount(cloud, &STAGING.to_string());
    trap().mount(cloud, &TRAP.to_string());
    let secret = || Response::new(200, "secret");
    Website::default()
        .page("/latest/meta-data/", secret())
        .page("/rebind", secret())
        .mount(cloud, &METADATA.to_string());
}

/// A site that sends those who ask to where they must not go, or nowhere.
fn trap() -> Website {
    let hops = (1..=6).fold(Website::default(), |site, hop| {
        site.redirect(&format!("/hops/{hop}"), 307, &format!("/hops/{}", hop - 1))
    });
    hops.page("/hops/0", Response::new(200, "Here."))
        .redirect("/", 302, "http://169.254.169.254/latest/meta-data/")
        .redirect("/number", 301, "http://2852039166/latest/meta-data/")
        .redirect("/name", 308, "http://inside.example/latest/meta-data/")
        .redirect("/loop", 302, "/loop")
        .redirect("/file", 303, "file:///etc/passwd")
        .redirect("/malformed", 302, "http://[")
        .page("/nowhere", Response::new(302, "There is no location."))
        .page("/rebind", Response::new(200, "Nothing to see."))
}
