//! `HTMLRewriter`. The expected answers are those of the runtime, workerd 1.20260426.1.

use crate::support::value;

const PAGE: &str = r#"<div id="a" class="x y" data-k=v><p>one</p><p class="z">two &amp; <b>three</b></p><br/><img src=cat.png></div><!-- c -->"#;

/// What a page becomes; `log` is what the handlers note, and stands behind it.
fn rewritten(page: &str, rewriter: &str) -> String {
    let said = value(&format!(
        "(async () => {{
           const log = [];
           const answer = ({rewriter}).transform(new Response({page:?}, {{ headers: {{ 'content-type': 'text/html' }} }}));
           const text = await answer.text().catch((error) => `${{error.name}}: ${{error.message}}`);
           return log.length ? `${{text}} | ${{JSON.stringify(log)}}` : text;
         }})()"
    ));
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
}

fn elements(selector: &str, handler: &str) -> String {
    rewritten(
        PAGE,
        &format!("new HTMLRewriter().on({selector:?}, {{ element(e) {{ {handler} }} }})"),
    )
}

#[test]
fn an_element_is_surrounded_filled_replaced_and_removed_as_in_the_runtime() {
    let inside = r#"<p>one</p><p class="z">two &amp; <b>three</b></p><br/><img src=cat.png>"#;
    let start = r#"<div id="a" class="x y" data-k=v>"#;
    let cases = [
        (
            "e.before('1'); e.before('2'); e.after('3'); e.after('4'); e.prepend('5'); e.prepend('6'); e.append('7'); e.append('8')",
            format!("12{start}65{inside}78</div>43"),
        ),
        ("e.setInnerContent('<i>')", format!("{start}&lt;i&gt;</div>")),
        (
            "e.setInnerContent('<i>', { html: true }); e.append('z'); e.prepend('y')",
            format!("{start}y<i>z</div>"),
        ),
        (
            "e.replace('a'); e.replace('b'); e.before('c'); e.after('d'); e.append('e')",
            "cbed".into(),
        ),
        ("e.remove(); e.before('x'); e.after('y'); e.append('z'); e.prepend('w')", "xwzy".into()),
        ("e.removeAndKeepContent(); e.append('z'); e.before('b')", format!("b{inside}z")),
        ("e.tagName = 'section'", format!("{}{inside}</section>", start.replace("div", "section"))),
        (
            "e.removeAttribute('class'); e.setAttribute('id', 'a\"b')",
            format!("<div id=\"a&quot;b\" data-k=v>{inside}</div>"),
        ),
        (
            "e.after('x'); e.onEndTag((end) => { end.before('b'); end.after('y'); })",
            format!("{start}{inside}b</div>yx"),
        ),
    ];
    for (handler, expected) in cases {
        assert_eq!(elements("div", handler), format!("{expected}<!-- c -->"), "{handler}");
    }
    assert_eq!(
        elements("div", "e.setAttribute('a b', 'c')"),
        "TypeError: Parser error: ` ` character is forbidden in the attribute name"
    );
}

#[test]
fn a_selector_means_what_it_means_in_the_runtime() {
    let cases = [
        ("div > p", r#"["p","p"]"#),
        ("div > b", ""),
        ("div b", r#"["b"]"#),
        (".x.y#a", r#"["div"]"#),
        ("[class~=y]", r#"["div"]"#),
        ("[src$=png]", r#"["img"]"#),
        ("[class=X i], p:not(.z, .q)", r#"["p"]"#),
        ("p:nth-child(2)", r#"["p"]"#),
        ("p:nth-of-type(2n)", r#"["p"]"#),
        ("*", r#"["div","p","p","b","br","img"]"#),
    ];
    for (selector, expected) in cases {
        let said = elements(selector, "log.push(e.tagName)");
        assert_eq!(
            said.strip_prefix(PAGE).unwrap().trim_start_matches(" | "),
            expected,
            "{selector}"
        );
    }
    let why = value(
        "['p + p', 'p:last-child', '', 'div >'].map((text) => { try { new HTMLRewriter().on(text, {}); } catch (error) { return error.message; } })",
    );
    assert_eq!(
        why,
        r#"["Parser error: Unsupported combinator `+` in selector.","Parser error: Unsupported pseudo-class or pseudo-element in selector.","Parser error: The selector is empty.","Parser error: Dangling combinator in selector."]"#
    );
}

#[test]
fn texts_comments_and_the_page_itself_have_handlers_that_may_wait() {
    let said = rewritten(
        "<!DOCTYPE html><title>a &lt; <b></title><p>x<!--y-->z",
        "new HTMLRewriter()
           .on('p', { text(t) { log.push([t.text, t.lastInTextNode]); }, comments(c) { c.text = 'new'; } })
           .on('title', { async element(e) { await scheduler.wait(5); e.setInnerContent(new Response('later'), { html: true }); } })
           .onDocument({ doctype(d) { log.push(d.name); }, end(end) { end.append('<E>'); } })",
    );
    assert_eq!(
        said,
        r#"<!DOCTYPE html><title>later</title><p>x<!--new-->z&lt;E&gt; | ["html",["x",false],["",true],["z",false],["",true]]"#
    );
    let failed = elements("div", "throw new Error('boom')");
    assert_eq!(failed, "Error: boom");
}

/// As in the runtime: an end tag ends all that is open inside of it, and `li` does not end another.
#[test]
fn a_page_is_not_mended() {
    let handlers = "new HTMLRewriter().on('p', { element(e) { log.push([...e.attributes]); e.setAttribute('k', 'v'); e.append('END'); e.after('AFTER'); } })";
    for (page, expected) in [
        (
            "<div><p>1</div><p>2</p>",
            r#"<div><p k="v">1END</div>AFTER<p k="v">2END</p>AFTER | [[],[]]"#,
        ),
        ("<P CLASS=Q>Z</P>", r#"<P CLASS=Q k="v">ZEND</P>AFTER | [[["class","Q"]]]"#),
        (
            "<p a=1 a=2 c = d e>k",
            r#"<p a=1 a=2 c = d e k="v">k | [[["a","1"],["a","2"],["c","d"],["e",""]]]"#,
        ),
        ("<script>'<p>'</script>a < b</p>", "<script>'<p>'</script>a < b</p>"),
    ] {
        assert_eq!(rewritten(page, handlers), expected, "{page}");
    }
    let said = rewritten(
        "<ul><li>one<li>two</ul>",
        "new HTMLRewriter().on('ul > li', { element() { log.push(1); } })",
    );
    assert_eq!(said, "<ul><li>one<li>two</ul> | [1]");
}
