//! Where the files of a Worker are looked for.

use std::path::Path;

use thunderhead_workers::Worker;

/// Somebody begins with one of the Workers and adds others beside it.
#[test]
fn the_requests_of_several_workers_may_be_in_the_folder_of_the_first() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests-of-the-first");
    for (name, more) in
        [("shop", r#", "services": [{ "binding": "STOCK", "service": "stock" }]"#), ("stock", "")]
    {
        let own = folder.join(name);
        std::fs::create_dir_all(&own).unwrap();
        let config = format!(r#"{{ "name": "{name}", "main": "index.js"{more} }}"#);
        std::fs::write(own.join("wrangler.json"), config).unwrap();
        let source = "export default { fetch: () => new Response('here') };";
        std::fs::write(own.join("index.js"), source).unwrap();
    }
    std::fs::write(folder.join("shop/storm.http"), "GET /first\n").unwrap();
    let worker = Worker::load(&folder, None).unwrap();
    let path = |worker: &Worker| worker.one_by_one()[0].request.path.to_string();
    assert_eq!((worker.has_requests(), path(&worker)), (true, "/first".into()));
    // That of the folder itself comes first.
    std::fs::write(folder.join("storm.http"), "GET /whole\n").unwrap();
    let whole = Worker::load(&folder, None).map(|worker| path(&worker));
    std::fs::remove_file(folder.join("storm.http")).unwrap();
    assert_eq!(whole, Ok("/whole".into()));
}
