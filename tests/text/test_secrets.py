"""What is a secret and what is not: a miss leaks a key for years, a false alarm destroys a memory.

All values are made up here at run time from parts, so that no string in this file looks like a live key.
"""

from __future__ import annotations

import base64
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.secrets import Finding, redact

_DICE = random.Random(20231018)
_ALNUM = string.ascii_letters + string.digits
_HEX = string.digits + "abcdef"
_B64 = _ALNUM + "+/"
_URL64 = _ALNUM + "-_"


def _roll(size: int, alphabet: str = _ALNUM) -> str:
    """Random characters that begin with a digit, a small and a capital letter, as far as there are any."""
    start = [c for c in ("7", "q", "Z") if c in alphabet]
    return "".join(start[:size]) + "".join(_DICE.choice(alphabet) for _ in range(size - len(start[:size])))


def _luhn(stem: str) -> str:
    """The stem with its check digit."""
    doubled = [sum(divmod(2 * int(d), 10)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(stem))]
    return stem + str(-sum(doubled) % 10)


def _dashes(kind: str, word: str = "PRIVATE KEY") -> tuple[str, str]:
    rule = "-" * 5
    name = f"{kind} {word}".strip()
    return f"{rule}BEGIN {name}{rule}", f"{rule}END {name}{rule}"


def _pem(kind: str, lines: int = 6, word: str = "PRIVATE KEY", newline: str = "\n") -> str:
    begin, end = _dashes(kind, word)
    body = [_roll(64, _B64) for _ in range(lines)] + [_roll(20, _B64) + "=="]
    return newline.join([begin, *body, end])


_JWT = "ey" + "J" + _roll(30, _URL64) + ".ey" + "J" + _roll(60, _URL64) + "." + _roll(43, _URL64)
_BASIC = base64.b64encode(b"aladdin:opensesame").decode()
_VISA = _luhn("4" + "123" * 4 + "45")
_MASTER = _luhn("5105" + "7" * 11)
_AMEX = _luhn("3782" + "8" * 10)

SECRETS = [
    # (kind, text, the secret part)
    *[
        ("aws-key", f"id {p}", p)
        for p in ("AK" + "IA" + _roll(16, string.ascii_uppercase), "AS" + "IA" + _roll(16, "ABC234"))
    ],
    *[
        ("github-token", f"use {p} now", p)
        for p in (
            "gh" + "p_" + _roll(36),
            "gh" + "o_" + _roll(36),
            "gh" + "s_" + _roll(36),
            "github_" + "pat_" + _roll(82),
        )
    ],
    ("gitlab-token", (p := "gl" + "pat-" + _roll(20, _URL64)), p),
    ("slack-token", f"bot {(p := 'xo' + 'xb-' + '1234567890-' + _roll(24))}", p),
    (
        "slack-token",
        "https://hooks.slack." + "com/services/" + (p := f"T{_roll(8)}/B{_roll(8)}/{_roll(24)}"),
        p,
    ),
    ("stripe-key", (p := "sk_" + "live_" + _roll(24)), p),
    ("stripe-key", (p := "rk_" + "live_" + _roll(24)), p),
    ("stripe-key", (p := "sk_" + "test_" + _roll(24)), p),
    ("stripe-key", (p := "wh" + "sec_" + _roll(32)), p),
    ("anthropic-key", f"key={(p := 'sk-' + 'ant-api03-' + _roll(93, _URL64))}", p),
    ("openai-key", f"({(p := 'sk' + '-' + _roll(48))})", p),
    ("openai-key", (p := "sk-" + "proj-" + _roll(64)), p),
    ("google-key", (p := "AI" + "za" + _roll(35, _URL64[:-2])), p),
    ("google-key", (p := "GOC" + "SPX-" + _roll(28)), p),
    ("huggingface-token", (p := "h" + "f_" + _roll(34)), p),
    ("npm-token", f"//registry:_authToken {(p := 'np' + 'm_' + _roll(36))}", p),
    ("pypi-token", (p := "py" + "pi-" + "AgEIcHlwaS5vcmc" + _roll(80)), p),
    ("sendgrid-key", (p := "S" + "G." + _roll(22) + "." + _roll(43)), p),
    ("twilio-key", (p := "S" + "K" + _roll(32, _HEX)), p),
    ("telegram-token", (p := "123456789" + ":A" + "A" + _roll(33)), p),
    ("discord-token", (p := "M" + "T" + _roll(24) + "." + _roll(6) + "." + _roll(38)), p),
    ("age-key", (p := "AGE-SECRET-" + "KEY-1" + _roll(58, string.ascii_uppercase + "234567")), p),
    ("jwt", f"cookie {_JWT};", _JWT),
    # keys in blocks
    *[
        ("private-key", f"key:\n{p}\nend", p)
        for p in (_pem("RSA"), _pem("EC"), _pem("OPENSSH"), _pem(""), _pem("ENCRYPTED"))
    ],
    ("private-key", (p := _pem("PGP", word="PRIVATE KEY BLOCK")), p),
    ("private-key", '{"private_key": "' + (p := _pem("", newline="\\n")) + '\\n"}', p),
    ("private-key", (p := "\n".join(_pem("RSA").split("\n")[:4])), p),
    ("private-key", (p := _pem("OPENSSH").split("\n")[0] + "\n" + _roll(40, _B64)) + "\nand so on", p),
    # what is called a secret
    ("password", "password: hunter2", "hunter2"),
    ("password", "Passwd = s3cr3t-Value", "s3cr3t-Value"),
    ("password", "my password is Blue42horse, ok?", "Blue42horse"),
    ("password", "密码：abc12345。", "abc12345"),
    ("password", "密码是 88776655", "88776655"),
    ("password", '{"user": "a", "password": "sunshine"}', "sunshine"),
    ("password", r"{\"password\": \"hunter2\"}", "hunter2"),
    ("password", "'db_passwd' => 'Tr0ub4dor',", "Tr0ub4dor"),
    ("password", "export DB_PASSWORD=sunshine", "sunshine"),
    ("password", "PGPASSWORD=sunshine psql", "sunshine"),
    ("password", "https://host/login?user=a&password=sunshine&x=1", "sunshine"),
    ("password", "Server=db;User Id=sa;Password=p@ss!word;", "p@ss!word"),
    ("password", "mysql --password sunshine1", "sunshine1"),
    ("password", "<password>hunter22</password>", "hunter22"),
    ("password", "**Password:** `hunter22`", "hunter22"),
    ("password", 'passphrase = "correct-horse-battery-staple"', "correct-horse-battery-staple"),
    ("password", "pwd: 4711", "4711"),
    ("password", 'password: str = "hunter2"', "hunter2"),
    ("secret", f"aws_secret_access_key = {(p := _roll(40, _B64))}", p),
    ("secret", f"API_KEY={(p := _roll(32, _HEX))}", p),
    ("secret", f'"api-key": "{(p := _roll(24))}"', p),
    ("secret", f"https://host/api?token={(p := _roll(20))}&page=2", p),
    ("secret", f"client_secret: {(p := _roll(30))}", p),
    ("secret", f"密钥: {(p := _roll(20))}", p),
    ("secret", f"--api-key {(p := _roll(20))}", p),
    ("secret", f"AccountKey={(p := _roll(86, _B64) + '==')};EndpointSuffix=x", p),
    ("secret", f"the token is {(p := _roll(24))}.", p),
    ("secret", f"PrivateKey = {(p := _roll(43, _B64) + '=')}", p),
    ("authorization", f"Authorization: Bearer {(p := _roll(30))}", p),
    ("authorization", f"'Authorization': 'Basic {_BASIC}'", _BASIC),
    ("authorization", f"curl -H 'bearer {(p := _roll(40))}'", p),
    ("url-password", "postgres://app:hunter2@db.local:5432/x", "hunter2"),
    ("url-password", "redis://:s3cret@localhost", "s3cret"),
    ("url-password", "https://bob:p@ss@host/x", "p@ss"),
    ("url-password", "curl -u bob:hunter2 https://host", "hunter2"),
    # cards
    ("card", f"card {_VISA} ok", _VISA),
    ("card", f"卡号{_MASTER}有效", _MASTER),
    ("card", f"pay {(p := ' '.join(_VISA[i : i + 4] for i in range(0, 16, 4)))} 12/27", p),
    ("card", (p := "-".join(_MASTER[i : i + 4] for i in range(0, 16, 4))), p),
    ("card", (p := f"{_AMEX[:4]} {_AMEX[4:10]} {_AMEX[10:]}"), p),
    ("card", (p := _luhn("6011" + "2" * 11)), p),
    ("card", (p := _luhn("3530" + "1" * 11)), p),
    ("card", (p := _luhn("30" + "5" * 11)), p),
    ("card", (p := _luhn("622" + "1" * 15)), p),
    ("card", f"visa card {(p := _luhn('4' + '2' * 11))}", p),
]


@pytest.mark.parametrize(
    ("kind", "text", "secret"), SECRETS, ids=lambda value: str(value)[:24].replace("\n", " ")
)
def test_a_secret_is_replaced_by_its_kind(kind: str, text: str, secret: str) -> None:
    start = text.index(secret)
    clean, found = redact(text)
    assert clean == text.replace(secret, f"[redacted:{kind}]")
    assert found == [Finding(kind, start, start + len(secret))]


_HASH = _roll(40, _HEX)
_SHA256 = _roll(64, _HEX)
_UUID = "3f2b8c1e-9d4a-4f6b-8e7c-1a2b3c4d5e6f"

HARMLESS = [
    "",
    "the password is hard to remember",
    "my password is really long",
    "the password was changed on 2023-05-07",
    "password: required",
    "password: must have 8 characters",
    "Password is 12-character",
    "password is SHA256-hashed",
    "password = getpass()",
    "password=password",
    "password = os.environ['DB_PASSWORD']",
    "password: ${DB_PASSWORD}",
    "PASSWORD=$DB_PASSWORD",
    "password: {{ vault.password }}",
    'password = "<your password>"',
    "password: ********",
    "password: xxxxxx",
    '"password": "string"',
    "password: string;",
    "password: Optional[str] = None",
    "PWD=/home/user2/work",
    "login(user, password=pw)",
    'type="password" name="user1"',
    "token: the unit of text",
    "secret: tell nobody",
    "a token is about 4 characters",
    "max_tokens: 4096",
    "token = 4096",
    "token_count=12345678",
    "token = next_token1",
    "token = self.tokens[i]",
    "token = tokens2[3]",
    "token: str = Field(...)",
    "api_key=YOUR_API_KEY",
    "api_key = your-api-key-123456",
    "API key: see the wiki",
    "secret santa is on 24 December",
    "secret: https://host/doc/12345678",
    "key: 12345678901234567890",
    f"commit {_HASH}",
    f"git checkout {_HASH[:7]}",
    f"sha256:{_SHA256}",
    f"id {_UUID}",
    f"/{_UUID}/{_HASH}.json",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 4).decode(),
    "call +1 (415) 555-2671 or 0049 30 1234567",
    "phone 13800138000",
    "2023-05-07T13:56:00.123456Z",
    "ISBN 978-3-16-148410-0 and 9783161484100",
    f"order {int(_VISA) + 1}",
    f"order {_VISA}7654321",
    f"0.{_VISA}",
    f"{_HASH}{_VISA}{_HASH}",
    f"x{_VISA}",
    "1697640600000 1697640600000000",
    "id 1234 5678 9012 3456",
    f"1111 {' '.join(_VISA[i : i + 4] for i in range(0, 16, 4))} 2222",
    f"EAN {_luhn('4' + '2' * 11)}",
    "Authorization: Bearer <token>",
    "Authorization: required",
    "Authorization: Bearer valid_token",
    "Authorization: Bearer your-token-1",
    "the bearer of this letter",
    "bearer authentication-is-described-below",
    "https://host:8080/path@version1",
    "http://host:80?mail=a@b.com",
    "mail bob:alice@host",
    "postgres://user:${PW}@host",
    "postgres://user:[redacted:url-password]@host",
    "sk-learn is scikit-learn",
    "sk-this-is-a-long-css-class-name",
    "hf_hub_download(repo_id)",
    "npm_config_registry=https://registry",
    "pypi-publish action",
    "eyJ is how a token begins",
    "the line -----" + "BEGIN RSA PRIVATE KEY" + "----- opens such a file",
    "from -----" + "BEGIN PRIVATE KEY" + "----- up to -----" + "END PRIVATE KEY" + "-----",
    "-----" + "BEGIN PUBLIC KEY" + "-----\n" + _roll(64, _B64) + "\n-----" + "END PUBLIC KEY" + "-----",
    "ssh-ed25519 " + _roll(68, _B64) + " me@host",
    "SKIP SK8 skate",
    "密码忘记了怎么办",
    "密码：请输入密码",
    "口令是什么",
]


@pytest.mark.parametrize("text", HARMLESS, ids=lambda text: text[:32].replace("\n", " "))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == (text, [])


def test_the_secret_behind_a_key_id_is_found_without_a_name() -> None:
    key, secret = "AK" + "IA" + _roll(16, string.ascii_uppercase), _roll(40, _B64)
    clean, found = redact(f"{key}\n{secret}\n")
    assert clean == "[redacted:aws-key]\n[redacted:aws-key]\n"
    assert len(found) == 2


def test_places_count_in_the_given_text() -> None:
    text = f"password: hunter2 and card {_VISA}, password: hunter3"
    clean, found = redact(text)
    assert clean == "password: [redacted:password] and card [redacted:card], password: [redacted:password]"
    assert [text[f.start : f.end] for f in found] == ["hunter2", _VISA, "hunter3"]


def test_a_known_shape_names_the_finding_before_its_label_does() -> None:
    key = "sk-" + "proj-" + _roll(48)
    assert redact(f"OPENAI_API_KEY={key}")[0] == "OPENAI_API_KEY=[redacted:openai-key]"


@pytest.mark.parametrize("invisible", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"])
def test_a_secret_split_by_invisible_characters_is_found(invisible: str) -> None:
    secret = "gh" + "p_" + _roll(36)
    split = secret[:10] + invisible + secret[10:20] + invisible + secret[20:]
    clean, found = redact(f"token {split} 😀")
    assert clean == "token [redacted:github-token] 😀"
    assert found == [Finding("github-token", 6, 6 + len(split))]


def test_a_finding_does_not_show_the_secret() -> None:
    assert "hunter2" not in repr(redact("password: hunter2")[1])


_PIECES = (
    [text for _, text, _ in SECRETS]
    + HARMLESS
    + ["=", ":", " ", "\n", '"', "password", "token", "[redacted:", "]", "\u200b"]
)


@given(st.lists(st.sampled_from(_PIECES), max_size=6).map("".join))
def test_redaction_is_a_fixed_point(text: str) -> None:
    clean, found = redact(text)
    assert redact(clean) == (clean, [])
    places = [place for f in found for place in (f.start, f.end)]
    assert places == sorted(places)
    rebuilt, last = "", 0
    for f in found:
        rebuilt, last = rebuilt + text[last : f.start] + f"[redacted:{f.kind}]", f.end
    assert rebuilt + text[last:] == clean


@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    clean, found = redact(text)
    assert (clean == text) == (not found)


_BEGIN = _dashes("RSA")[0]
HOSTILE = [
    "a",
    "=",
    "0",
    "4",
    " ",
    "-",
    ".",
    "M",
    "x.",
    "key" * 3,
    "4 ",
    "4111 ",
    "\u200b",
    "a\u200b",
    "token=",
]
HOSTILE += [
    "ey" + "J",
    "-ey" + "J",
    "ey" + "J.",
    "-----BEGIN ",
    _BEGIN,
    _BEGIN + "\n",
    "password: ",
    "password:",
]
HOSTILE += ["secret is ", "://a:", "://", "Bearer ", "sk-", "gl" + "pat-", "AK" + "IA", "123456789:A" + "A"]
HOSTILE += ["--token ", "xo" + "xb-", "<password>", '"password":"', "password=a1", "a1b2="]


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_a_long_hostile_line_is_read_in_linear_time(piece: str) -> None:
    """Superlinear work would take minutes here; the suite's own time limit is the clock."""
    text = piece * (400_000 // len(piece))
    clean, _ = redact(text)
    assert len(clean) <= 16 * len(text)
