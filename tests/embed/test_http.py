"""The faults F21 to F24 and the address rules, against a loopback server that misbehaves as told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest
import stamina

from mnemic.embed import BadVectors, canary, same_model
from mnemic.embed.http import HttpEmbedder, forbidden, read_answer
from mnemic.errors import BadInput, ModelError

from .tiny import Server, rows_for, send, serving

Answer = Callable[[BaseHTTPRequestHandler, list[str]], None]


@pytest.fixture
def server() -> Iterator[Server]:
    stamina.set_testing(True, attempts=3)  # the same retries, without the waits
    try:
        with serving() as running:
            yield running
    finally:
        stamina.set_testing(False)


def embedder(server: Server, **more: object) -> HttpEmbedder:
    return HttpEmbedder(server.url, "stub", 4, **more)  # type: ignore[arg-type]


def body(text: str, status: int = 200, **headers: str) -> Answer:
    return lambda handler, texts: send(handler, status, text, **headers)


def rows(*vectors: Sequence[object], order: list[int] | None = None) -> str:
    index = order or list(range(len(vectors)))
    return json.dumps({"data": [{"index": i, "embedding": v} for i, v in zip(index, vectors, strict=True)]})


def test_rows_are_put_in_the_order_of_their_index(server: Server) -> None:
    server.answers.append(body(rows([0, 1, 0, 0], [1, 0, 0, 0], order=[1, 0])))
    assert embedder(server).embed(["a", "b"], "query").tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_vectors_off_unit_length_are_scaled(server: Server) -> None:
    server.answers.append(body(rows([0, 3, 0, 4])))
    assert embedder(server).embed(["a"], "query")[0].tolist() == pytest.approx([0, 0.6, 0, 0.8])


def test_many_texts_go_out_in_batches_of_64(server: Server) -> None:
    texts = [f"text {n}" for n in range(130)]
    got = embedder(server).embed(texts, "query")
    assert [len(seen["texts"]) for seen in server.seen] == [64, 64, 2]
    wanted = np.array(rows_for(texts, 4))
    np.testing.assert_allclose(got, wanted / np.linalg.norm(wanted, axis=1)[:, None], atol=1e-6)


@pytest.mark.parametrize(
    "bad", ["[NaN, 0, 0, 0]", "[Infinity, 0, 0, 0]", "[0, 0, 0, 0]", "[1e-30, 0, 0, 0]", "[1e400, 0, 0, 0]"]
)
def test_a_vector_without_a_direction_names_its_row(server: Server, bad: str) -> None:
    good = '{"index": 0, "embedding": [1, 0, 0, 0]}'
    server.answers.append(body(f'{{"data": [{good}, {{"index": 1, "embedding": {bad}}}]}}'))
    with pytest.raises(BadVectors) as caught:
        embedder(server).embed(["a", "b"], "query")
    assert caught.value.rows == (1,)


def test_a_bad_row_is_numbered_within_the_whole_call(server: Server) -> None:
    server.answers.append(lambda h, texts: send(h, 200, rows(*rows_for(texts, 4))))
    server.answers.append(lambda h, texts: send(h, 200, rows(*[[0, 0, 0, 0] for _ in texts])))
    with pytest.raises(BadVectors) as caught:
        embedder(server).embed(["a"] * 66, "query")
    assert caught.value.rows == (64, 65)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        "[]",
        '{"error": "no"}',
        '{"data": 3}',
        '{"data": [{"embedding": [1, 0, 0, 0]}]}',
        rows([1, 0, 0]),
        rows([1, 0, 0, 0, 0]),
        rows(),
        rows([1, 0, 0, 0], [1, 0, 0, 0]),
        rows([1, 0, 0, 0], order=[7]),
        rows([1, 0, 0, None]),
        rows([1, 0, 0, "1"]),
        rows([[1], [0], [0], [0]]),
        '{"data": [{"index": 0, "embedding": [1' + "0" * 400 + ", 0, 0, 0]}]}",
        "[" * 3000,
        "\xff",
    ],
)
def test_any_other_answer_is_a_model_error_and_is_not_asked_for_again(server: Server, text: str) -> None:
    server.answers += [body(text), body(text)]
    with pytest.raises(ModelError):
        embedder(server).embed(["a"], "query")
    assert len(server.seen) == 1


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(ModelError, match="unequal length"):
        read_answer(rows([1, 0], [1]).encode(), 2)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Server, status: int) -> None:
    server.answers += [body("busy", status), body("busy", status, Retry_After="1")]
    assert embedder(server).embed(["a"], "query").shape == (1, 4)
    assert len(server.seen) == 3


def test_a_lasting_failure_is_given_up_after_three_tries(server: Server) -> None:
    server.answers += [body("down", 500)] * 5
    with pytest.raises(ModelError, match="500: 'down'"):
        embedder(server).embed(["a"], "query")
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_not_tried_again_and_hides_the_key(server: Server, status: int) -> None:
    server.answers.append(body("bad key sk-secret", status))
    with pytest.raises(ModelError) as caught:
        embedder(server, key="sk-secret").embed(["a"], "query")
    assert "bad key ***" in str(caught.value)
    assert len(server.seen) == 1
    assert server.seen[0]["authorization"] == "Bearer sk-secret"


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answers.append(body("", 307, Location="http://169.254.169.254/latest/meta-data"))
    with pytest.raises(ModelError, match="307.*redirects are not followed"):
        embedder(server).embed(["a"], "query")
    assert len(server.seen) == 1


def test_an_endless_answer_is_cut_off(server: Server) -> None:
    server.answers.append(body("x" * 200_000))
    with pytest.raises(ModelError, match="more than 65792 bytes"):
        embedder(server).embed(["a"], "query")


def test_an_answer_that_drips_past_the_time_limit_is_dropped(server: Server) -> None:
    late = itertools.count(0, 100)
    with pytest.raises(ModelError, match="still answering after 30 s"):
        embedder(server, ticks=lambda: float(next(late))).embed(["a"], "query")


def test_a_connection_that_breaks_off_is_tried_again(server: Server) -> None:
    server.answers.append(lambda handler, texts: handler.connection.close())
    assert embedder(server).embed(["a"], "query").shape == (1, 4)


def test_a_server_that_is_down_is_a_model_error() -> None:
    with serving() as gone:
        url = gone.url
    with pytest.raises(ModelError, match="did not answer"):
        HttpEmbedder(url, "stub", 4, attempts=1).embed(["a"], "query")


def test_a_model_swapped_under_one_name_shows_in_the_canary(server: Server) -> None:
    before = canary(embedder(server))
    server.answers.append(body(rows([1, -1, 1, 1])))
    assert not same_model(before, canary(embedder(server)))
    assert same_model(before, canary(embedder(server)))


def test_an_e5_model_gets_its_prefixes(server: Server) -> None:
    HttpEmbedder(server.url, "multilingual-e5-base", 4).embed(["cat"], "query")
    assert server.seen[0]["texts"] == ["query: cat"]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/v1/embeddings"),
        ("/v1/", "/v1/embeddings"),
        ("/api", "/api/embeddings"),
        ("/x/embeddings", "/x/embeddings"),
    ],
)
def test_the_endpoint_follows_from_the_base(server: Server, url: str, path: str) -> None:
    HttpEmbedder(server.url.removesuffix("/v1") + url, "stub", 4).embed(["a"], "query")
    assert server.seen[0]["path"] == path


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "host:80",
        "http://h:0/v1",
        "http://h:99999",
        "http://h/?q",
    ],
)
def test_an_address_that_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="embedding url"):
        HttpEmbedder(url, "stub", 4)


def test_a_password_in_the_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(BadInput) as caught:
        HttpEmbedder("http://me:hunter2@host/v1", "stub", 4)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "host", "allowed"),
    [
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("127.0.0.1", "embed.example", False),
        ("::ffff:127.0.0.1", "embed.example", False),
        ("169.254.169.254", "169.254.169.254", False),
        ("::ffff:169.254.169.254", "embed.example", False),
        ("fe80::1%eth0", "embed.example", False),
        ("fd00:ec2::254", "embed.example", False),
        ("100.100.100.200", "embed.example", False),
        ("0.0.0.0", "0.0.0.0", False),
        ("224.0.0.1", "embed.example", False),
        ("192.168.1.20", "nas.example", True),
        ("93.184.216.34", "embed.example", True),
    ],
)
def test_the_address_behind_the_name_decides(address: str, host: str, allowed: bool) -> None:
    assert (forbidden(address, host) is None) is allowed


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]"])
def test_no_spelling_of_the_metadata_address_is_connected_to(host: str) -> None:
    with pytest.raises(ModelError, match="not connected"):
        HttpEmbedder(f"http://{host}/v1", "stub", 4, attempts=1).embed(["a"], "query")
