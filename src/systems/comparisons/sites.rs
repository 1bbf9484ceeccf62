//! The web as far as comparisons reach it: two environments of one application, a site that means
//! harm, an address that must never be asked, and a text model.

use thunderhead_sim::Cloud;
use thunderhead_sim::outside::{Page, TextModel, Website};

use super::explainer::MODEL;

/// Where a cloud hands its secrets to any caller inside.
const METADATA: &str = "169.254.169.254";

pub fn mount(cloud: &mut Cloud) {
    let page = |text: &str| Page::Content(text.into());
    let to = |location: &str| Page::Redirect(location.into());
    let prod = "content-type: text/html\nserver: nginx\nx-frame-options: DENY\n\nWelcome.";
    Website::default()
        .page("/", page(prod))
        .page("/old", to("/new"))
        .page("/new", page("content-type: text/html\n\nMoved."))
        .mount(cloud, "prod.example");
    Website::default()
        .page("/", page("content-type: text/html\nserver: caddy\n\nWelcome to staging."))
        .page("/old", to("https://prod.example/new"))
        .mount(cloud, "staging.example");
    Website::default()
        .page("/", to("http://169.254.169.254/latest/meta-data/"))
        .page("/number", to("http://2852039166/latest/meta-data/"))
        .page("/loop", to("/loop"))
        .mount(cloud, "trap.example");
    Website::default().page("/latest/meta-data/", page("secret")).mount(cloud, METADATA);
    TextModel::mount(cloud, MODEL);
}
