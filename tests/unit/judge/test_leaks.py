"""Internal details in errors are found wherever they stand, and nothing is found where nothing is."""

from __future__ import annotations

import pytest

from conformance.judge.leaks import find_leaks, without_public_texts

LEAKS = {
    "stack-trace": [
        "Traceback (most recent call last)",
        'File "/x/y.py", line 12',
        "  at com.example.Shop.pay(Shop.java:12)",
        "at pay (/srv/app.js:1:2)",
        "at pay /srv/app.js:1",
        "goroutine 12 [running]",
        "panic: runtime error",
        "shop.rb:12:in",
    ],
    "sql": [
        "SQLSTATE",
        "ORA-12345",
        "syntax error at or near",
        "sqlite3.OperationalError",
        "sqlite.Error",
        "psycopg2.errors",
        "psycopg.errors",
        "sqlalchemy.exc",
        "PG::UniqueError",
        "SELECT a, b  FROM",
        "INSERT INTO carts  VALUES",
        "UPDATE carts  SET",
        "DELETE FROM carts  WHERE",
    ],
    "decoder": [
        "json: cannot unmarshal number into Go value",
        "unmarshal number into Go struct field Body.url of type string",
        'strconv.Atoi: parsing "x"',
        "undefined method `upcase' for nil",
        "Cannot read property 'id' of undefined",
        "Cannot read properties of null",
        "com.fasterxml.jackson.core.JsonParseException",
        "java.lang.StackOverflowError",
        "System.Text.Json.JsonException",
    ],
    "file-path": [
        *(f"/{root}/lib/x/y" for root in ("usr", "home", "var", "opt", "app", "srv", "root", "etc")),
        "C:\\shop\\",
        "D:\\\\shop\\",
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in LEAKS.items() for text in texts])
def test_each_sign_of_a_leak_is_found(kind: str, text: str) -> None:
    """Alone, and on a line of a longer text: what excludes most texts excludes none of these."""
    for whole in (text, f"{{}}\n{text} and more"):
        assert kind in dict(find_leaks(whole))


@pytest.mark.parametrize(
    "text",
    ['{"error":{"code":"not_found","message":"no such cart: c-12"}}', "", "a/b", "that is all", "select a from b"],
)
def test_an_ordinary_error_reveals_nothing(text: str) -> None:
    assert find_leaks(text) == []


PUBLIC = {"type": "/app/problems/missing", "instance": "/srv/requests/17"}


@pytest.mark.parametrize(
    ("error", "rest"),
    [
        ({**PUBLIC, "title": "missing"}, {"title": "missing"}),
        ({"type": "no /srv/shop/a.json"}, {"type": "no /srv/shop/a.json"}),
        ({"errors": [{"code": "com.example.commerce.NotFoundError"}]}, {"errors": [{}]}),
        (
            {"exception": "org.springframework.web.BindException"},
            {"exception": "org.springframework.web.BindException"},
        ),
        ({"code": "java.lang.IllegalStateException"}, {"code": "java.lang.IllegalStateException"}),
        ({"code": "com.example.commerce.NotFoundError: c1"}, {"code": "com.example.commerce.NotFoundError: c1"}),
        ("missing", "missing"),
    ],
)
def test_what_names_a_problem_for_its_reader_is_no_leak(error: object, rest: object) -> None:
    """A URI reference of problem details, and a code in a reverse domain, by itself; not what a program has thrown."""
    assert without_public_texts(error) == rest
