from genie_core.assistant.tools.web.page import readable


def test_a_page_becomes_text_with_its_structure() -> None:
    page = """<!DOCTYPE html><html><head><title>The  shop</title><style>p { x }</style>
    <script>if (a < b) { alert("x") }</script></head>
    <body><h1>Tea &amp; more</h1><p>We sell <b>green</b>
    tea.<br>Daily.</p><ul><li>Sencha <a href="/sencha?a=1&amp;b=2">more</a></li><li>Matcha</li></ul>
    <table><tr><th>kind</th><th>price</th></tr><tr><td>green</td><td>3</td></tr></table>
    <pre>a  b
  c</pre><a href="#top">top</a> <img src="x" alt="a cup"><noscript>no</noscript><svg><text>no</text></svg>
    </body></html>"""
    assert readable(page) == (
        "The shop\n\n# Tea & more\n\nWe sell green tea.\nDaily.\n\n"
        "- Sencha [more](/sencha?a=1&b=2)\n- Matcha\n\n"
        "| kind | price\n | green | 3\n\na  b\n  c\n\ntop [image: a cup]"
    )


def test_broken_page_is_still_read() -> None:
    assert readable("") == ""
    assert readable("just text") == "just text"
    assert readable("</p></a></pre></script><p>a<a href=x>b<a href=y>c") == "a[b](x)[c](y)"
    assert readable("<div>" * 20_000 + "deep") == "deep"
    assert readable("a <!-- never closed <p>b").startswith("a")
    assert readable("&#xD800;&#0;&nosuch;<![CDATA[x]]><?php y ?>z")
    assert readable("a" + '<a href="javascript:x()">b</a>' + '<a href="data:x">c</a>') == "abc"
