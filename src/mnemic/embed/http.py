"""An embedding server that speaks OpenAI's `/v1/embeddings`: Ollama, llama.cpp, vLLM, TEI, or a hosted one.

The server is the least trusted part of mnemic: it may be down, slow, swapped for another model, or answer
NaN, too few rows, rows out of order, or without end. Each of those is a ModelError here and never a stored
vector. The address is the user's, yet it is still checked before each call: link-local and metadata addresses
are refused, a name that is not loopback may not resolve to loopback, the connection goes to the very address
that was checked, and redirects are not followed
(https://owasp.org/www-community/attacks/Server_Side_Request_Forgery).
"""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from mnemic.embed.base import BadVectors, Kind, Vectors, checked, clean, prefix_of, unit
from mnemic.errors import BadInput, MissingExtra, ModelError

if TYPE_CHECKING:
    import httpx

BATCH = 64
BYTES_PER_NUMBER = 64
"""Generous for one printed float with its indentation; the response cap is this times the numbers due."""

METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16")))
"""Cloud metadata services outside the link-local ranges."""


class _Transient(ModelError):
    """A failure that a second try may cure; `wait` is what the server asked for, in seconds."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class HttpEmbedder:
    """Vectors from an OpenAI-compatible server.

    `url` is the server's base (`http://localhost:11434/v1`) or the full endpoint; `dim` is the model's
    dimension, which is checked and never guessed; `key` goes out as a bearer token and appears in no message;
    `timeout` is in seconds, for one request from start to end. Proxies of the environment are not used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dim: int,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        attempts: int = 3,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        if dim < 1:
            raise BadInput(f"dim is {dim!r}: give the dimension of {model!r}, a positive number")
        self._at = _endpoint(url)
        self._model, self._key = model, key
        self._timeout, self._attempts, self._ticks = timeout, attempts, ticks
        self._prefix = prefix_of(model)
        self._client: httpx.Client | None = None
        self.dim = dim
        self.identity = f"http/{model}@{dim}+{self._prefix.name}"

    def __repr__(self) -> str:
        return f"HttpEmbedder({self.identity!r}, url={self._at.geturl()!r})"

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        ready = [clean(self._prefix.put(text, kind)) for text in texts]
        parts = [self._batch(ready[start : start + BATCH], start) for start in range(0, len(ready), BATCH)]
        whole = np.concatenate(parts) if parts else np.empty((0, self.dim), np.float32)
        return checked(whole, len(texts), self.dim)

    def _batch(self, texts: list[str], start: int) -> Vectors:
        rows = read_answer(self._retried(texts), len(texts))
        try:
            return unit(rows, self.dim)
        except BadVectors as error:
            raise BadVectors(str(error), tuple(start + row for row in error.rows)) from None

    def _retried(self, texts: list[str]) -> bytes:
        try:
            import stamina
        except ImportError as error:
            raise MissingExtra("stamina is not installed: pip install 'mnemic[http]'") from error

        def again(error: Exception) -> bool | float:
            if not isinstance(error, _Transient):
                return False
            return True if error.wait is None else error.wait

        for attempt in stamina.retry_context(
            on=again, attempts=self._attempts, timeout=3 * self._timeout, wait_max=8.0
        ):
            with attempt:
                return self._post(texts)
        raise ModelError(f"{self!r} gave no answer")  # unreachable: the last attempt returns or raises

    def _post(self, texts: list[str]) -> bytes:
        httpx = _httpx()
        if self._client is None:
            self._client = httpx.Client(timeout=self._timeout, follow_redirects=False, trust_env=False)
        cap = 65_536 + len(texts) * self.dim * BYTES_PER_NUMBER
        try:
            request = self._request(self._client, texts)
            end = self._ticks() + self._timeout
            response = self._client.send(request, stream=True)
            try:
                body = self._read(response, cap, end)
            finally:
                response.close()
        except httpx.TransportError as error:
            raise _Transient(f"{self!r} did not answer: {type(error).__name__} {error}") from error
        self._judge(response, body)
        return body

    def _request(self, client: httpx.Client, texts: list[str]) -> httpx.Request:
        host, address = self._at.hostname or "", _address(self._at)
        netloc = f"[{address}]" if ":" in address else address
        port = f":{self._at.port}" if self._at.port else ""
        headers = {"Host": (f"[{host}]" if ":" in host else host) + port, "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        url = self._at._replace(netloc=netloc + port).geturl()
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        return client.build_request(
            "POST", url, json=body, headers=headers, extensions={"sni_hostname": host}
        )

    def _read(self, response: httpx.Response, cap: int, end: float) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > cap:
                raise ModelError(
                    f"{self!r} answered more than {cap} bytes: not a list of {self.dim} numbers a text"
                )
            if self._ticks() > end:
                raise _Transient(f"{self!r} was still answering after {self._timeout:g} s")
        return bytes(body)

    def _judge(self, response: httpx.Response, body: bytes) -> None:
        status = response.status_code
        if status == 200:
            return
        said = body[:200].decode("utf-8", "replace")
        said = said.replace(self._key, "***") if self._key else said
        message = f"{self!r} answered {status}: {said!r}"
        if status in (408, 425, 429) or status >= 500:
            raise _Transient(message, _wait(response.headers.get("retry-after")))
        raise ModelError(
            f"{message}; redirects are not followed: set the final address" if status < 400 else message
        )


def read_answer(body: bytes, n: int) -> Vectors:
    """The n rows of an OpenAI-style answer in the order of their `index`; ModelError for any other shape."""
    try:
        data = json.loads(body)["data"]
        order = [item["index"] for item in data]
        rows = [item["embedding"] for item in data]
        numbers = all(type(number) in (int, float) for row in rows for number in row)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelError(
            f"the embedding server did not answer with embeddings: {type(error).__name__} {error}"
        ) from error
    if any(type(index) is not int for index in order) or sorted(order) != list(range(n)):
        raise ModelError(
            f"the embedding server numbered its rows {order[:8]!r}… for {n} texts: nothing was stored"
        )
    if not numbers or len({len(row) for row in rows}) != 1:
        raise ModelError(
            "the embedding server answered rows of unequal length, or not of numbers: nothing was stored"
        )
    try:
        # float64, so that a value beyond float32 is seen as it is and not as infinity
        wide = np.asarray(rows, np.float64)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"the embedding server answered a number that is none: {error}") from error
    return np.asarray(wide[np.argsort(order)])


def _endpoint(url: str) -> SplitResult:
    """The address to post to; BadInput if it is not plain http(s) with a host, or bears a password."""
    try:
        at = urlsplit(url)
        usable = at.scheme in ("http", "https") and bool(at.hostname) and (at.port is None or at.port > 0)
    except ValueError:
        usable = False
    if not usable or at.query or at.fragment:
        raise BadInput(f"the embedding url is {url!r}: give one like 'http://localhost:11434/v1'")
    if at.username is not None or at.password is not None:
        raise BadInput("the embedding url holds a user name or password: give the secret as the key")
    path = at.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = (path or "/v1") + "/embeddings"
    return at._replace(path=path)


def _address(at: SplitResult) -> str:
    """The checked address to connect to. Every address that the name resolves to has to pass."""
    host = at.hostname or ""
    try:
        found = socket.getaddrinfo(
            host, at.port or (443 if at.scheme == "https" else 80), type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError) as error:
        raise _Transient(f"the embedding server's name {host!r} does not resolve: {error}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        reason = forbidden(address, host)
        if reason:
            raise ModelError(f"the embedding server {host!r} is at {address!r}, {reason}: not connected")
    return addresses[0]


def forbidden(address: str, host: str) -> str | None:
    """Why `address`, to which `host` resolved, may not be connected to; None if it may."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(ip, "ipv4_mapped", None)
    ip = inner if inner is not None else ip
    if ip.is_link_local or ip in METADATA:
        return "a link-local or metadata address"
    if ip.is_multicast or ip.is_unspecified:
        return "not the address of a server"
    if ip.is_loopback and not _names_loopback(host):
        return "this machine, which the name does not say"
    return None


def _names_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _wait(header: str | None) -> float | None:
    """The server's Retry-After in seconds, at most 10; dates and nonsense count as none."""
    try:
        return min(10.0, max(0.0, float(header))) if header else None
    except ValueError:
        return None


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("httpx is not installed: pip install 'mnemic[http]'") from error
    return httpx
