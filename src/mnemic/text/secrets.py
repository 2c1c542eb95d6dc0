"""Takes secrets out of text before anything is stored, split or embedded.

A memory that keeps an API key gives it back in some later prompt, and erasing it from indexes, vectors and
backups is far harder than never storing it. So text passes here first. Rules know the shapes that issuers
give their keys, private key blocks, payment cards, and values that are called a secret ("password=…",
密码：…). A false alarm destroys a memory for good, so a value that is only *called* a secret must also look
like one: prose, placeholders, variables, types and paths stay.

Everything is linear in the length of the text: each rule is asked only if a literal of it occurs, and no
pattern can run over the same stretch from many starting points. Redaction is a fixed point: what comes out
goes in again unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret of `kind` at `text[start:end]` of the text that was given, which is not repeated here."""

    kind: str
    start: int
    end: int


def redact(text: str) -> tuple[str, list[Finding]]:
    """The text with every secret replaced by `[redacted:KIND]`, and where they stood, in order.

    Kinds: aws-key, github-token, gitlab-token, slack-token, stripe-key, anthropic-key, openai-key,
    google-key, huggingface-token, npm-token, pypi-token, sendgrid-key, twilio-key, telegram-token,
    discord-token, age-key, jwt, private-key, authorization, url-password, password, secret, card.
    """
    found: list[Finding] = []
    clean = text
    # A cut can uncover another secret (what stood before it is gone), so look again until nothing is left.
    for _ in range(_ROUNDS):
        fresh = _scan(clean)
        if not fresh:
            break
        found = _merge(found + [_original(finding, found) for finding in fresh])
        clean = _cut(text, found)
    return clean, found


_ROUNDS = 10
_KINDS = """
private-key age-key aws-key github-token gitlab-token slack-token stripe-key anthropic-key openai-key
google-key huggingface-token npm-token pypi-token sendgrid-key twilio-key telegram-token discord-token
jwt authorization url-password password secret card
"""
_ORDER = {kind: order for order, kind in enumerate(_KINDS.split())}
_MARK = "[redacted:"
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_MOST_INVISIBLE = 1_000_000  # beyond this many characters, split secrets are not looked for


def _scan(text: str) -> list[Finding]:
    """All findings of one pass, also in words that invisible characters split, merged."""
    found = list(_findings(text))
    if len(text) <= _MOST_INVISIBLE and not text.isascii() and _INVISIBLE.search(text):
        joined, places = _joined(text)
        found += [Finding(f.kind, places[f.start], places[f.end - 1] + 1) for f in _findings(joined)]
    return _merge(found)


def _joined(text: str) -> tuple[str, list[int]]:
    """The text without invisible characters, and where each of its characters stood."""
    places = [index for index, char in enumerate(text) if not _INVISIBLE.match(char)]
    return "".join(map(text.__getitem__, places)), places


def _findings(text: str) -> Iterator[Finding]:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters grow; places must stay
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    for hints, find in _RULES:
        if any(hint in lower for hint in hints):
            yield from (f for f in find(text, lower) if not text.startswith(_MARK, f.start))


def _merge(found: list[Finding]) -> list[Finding]:
    """Overlapping findings become one, named by the rule that stands first."""
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda f: (f.start, _ORDER[f.kind], -f.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            kind = min(last.kind, finding.kind, key=_ORDER.__getitem__)
            merged[-1] = Finding(kind, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return merged


def _cut(text: str, found: list[Finding]) -> str:
    parts, place = [], 0
    for finding in found:
        parts += [text[place : finding.start], f"{_MARK}{finding.kind}]"]
        place = finding.end
    return "".join([*parts, text[place:]])


def _original(finding: Finding, earlier: list[Finding]) -> Finding:
    """A finding in the text that `earlier` was cut from, at its places in the text before the cuts."""
    return Finding(finding.kind, _place(finding.start, earlier, False), _place(finding.end, earlier, True))


def _place(place: int, earlier: list[Finding], last: bool) -> int:
    shift = 0  # original = place + shift
    for cut in earlier:
        size = len(_MARK) + len(cut.kind) + 1
        begin = cut.start - shift
        if place <= begin:
            break
        if place < begin + size:
            return cut.end if last else cut.start
        shift += cut.end - cut.start - size
    return place + shift


# --- rules ---------------------------------------------------------------------------------------------

Finder = Callable[[str, str], Iterator[Finding]]
_Rule = tuple[tuple[str, ...], Finder]
"""Literals, and what finds secrets in a text and its lower-cased copy if one of them occurs in the copy."""


def _shape(kind: str, hints: str, pattern: str, check: Callable[[str], bool] | None = None) -> _Rule:
    """A rule for keys whose shape alone tells; the group `value` is cut out, or the whole match."""
    compiled = re.compile(pattern)
    group = "value" if "value" in compiled.groupindex else 0

    def find(text: str, lower: str) -> Iterator[Finding]:
        for match in compiled.finditer(text):
            if check is None or check(match[group]):
                yield Finding(kind, *match.span(group))

    return tuple(hints.split()), find


def _mixed(value: str) -> bool:
    """Random characters rather than words: letters with at least two digits."""
    return len(re.findall("[0-9]", value)) >= 2 and re.search("[A-Za-z]", value) is not None


def _random(value: str) -> bool:
    """As `_mixed`, in one long piece: not a name of hyphenated words."""
    return _mixed(value) and max(map(len, re.split("[-_.]", value))) >= 12


def _encoded(value: str) -> bool:
    """Not a word such as your-token: with a digit, or in both cases."""
    return _NO_VALUE.match(value) is None and re.search("[0-9]|[a-z].*[A-Z]|[A-Z].*[a-z]", value) is not None


# A run of characters is entered at its beginning only, or a hostile line costs the square of its length.
_EDGE, _DASHED = r"(?<![A-Za-z0-9])", r"(?<![A-Za-z0-9_\-])"


def _aws_keys(text: str, lower: str) -> Iterator[Finding]:
    """Key ids, and the 40 characters of a secret key that stand close behind one."""
    last = -1
    for match in _AWS_ID.finditer(text):
        yield Finding("aws-key", *match.span())
        for secret in _AWS_SECRET.finditer(text, max(match.end(), last), match.end() + 300):
            last = secret.end()
            if _mixed(secret[0]) and not re.fullmatch("[0-9a-f]+", secret[0]):
                yield Finding("aws-key", *secret.span())


_AWS_ID = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])")

# --- private keys

_PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_GAP = r"(?:\s|\\{1,2}[nrt]|[\"'+,>|*])"
# What a cut-off block still shows: header lines, long pieces, a short last one.
_PEM_BODY = re.compile(
    rf"(?:{_PEM_GAP}*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n\\]{{0,120}}"
    r"|[A-Za-z0-9+/]{16,}+={0,2}|=[A-Za-z0-9+/]{4}(?![A-Za-z0-9+/])))++"
    rf"(?:{_PEM_GAP}{{1,8}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?=\s*$))?"
)
_PEM_MOST = 20_000


def _private_keys(text: str, lower: str) -> Iterator[Finding]:
    """Blocks up to their END line, or as far as the key goes when cut off; a mere BEGIN line is none."""
    place = 0
    while begin := _PEM_BEGIN.search(text, place):
        place = begin.end()
        body = _PEM_BODY.match(text, place)
        limit = min(body.end() if body else place, len(text)) + _PEM_MOST
        next_begin = text.find("-----BEGIN", place, limit)
        end = _PEM_END.search(text, place, next_begin if next_begin >= 0 else limit)
        if end and (body or re.search("[A-Za-z0-9+/]{24}", text[place : end.start()])):
            place = end.end()
        elif body:
            place = body.end()
        else:
            continue
        yield Finding("private-key", begin.start(), place)


# --- values that are called a secret

_PASSWORD_NAMES = ("password", "passwd", "passwort", "pwd", "passphrase", "passcode", "密码", "密碼", "口令")
_KEY_NAMES = ("key", "secret", "token", "credential", "credentials", "密钥", "密鑰", "私钥", "令牌")
_NAME = f"(?P<name>{'|'.join(sorted(_PASSWORD_NAMES + _KEY_NAMES, key=len, reverse=True))})[0-9]?"
_KIND_OF_KEY = re.compile(
    r"(?:secret|access|api|private|auth|encryption|signing|account|service|master)[_\- ]?$", re.IGNORECASE
)
_MOST_BARE = 200  # what is read of a value to judge it
_BARE = r"[^\s\"'`,;&<>(){}\[\]\\|，。；、（）「」]"
_ASSIGNED = re.compile(
    rf"{_NAME}(?P<close>\\?[\"'`\]*]{{0,3}})[ \t]{{0,8}}"
    r"(?P<sep>:[ \t]?(?:str|string)[ \t]?=|:=|=>|={1,3}|:|：|＝|(?<=[ \t])(?:is|was)(?=[ \t])|是|为|為)"
    r"\*{0,2}[ \t]{0,8}\*{0,2}"
    r"(?:\\?\"(?P<double>[^\"\\\n]{1,256})\\?\"|'(?P<single>[^'\n]{1,256})'|`(?P<tick>[^`\n]{1,256})`"
    rf"|(?P<bare>{_BARE}{{1,{_MOST_BARE}}}))",
    re.IGNORECASE,
)
_FLAG = re.compile(rf"{_NAME}[ \t]{{1,4}}[\"']?(?P<bare>{_BARE}{{1,{_MOST_BARE}}})", re.IGNORECASE)
_FLAG_BEFORE = re.compile(r"--[a-z0-9\-]{0,20}$", re.IGNORECASE)
_ELEMENT = re.compile(rf"{_NAME}>(?P<bare>[^<>\s]{{1,{_MOST_BARE}}})</", re.IGNORECASE)
_ELEMENT_BEFORE = re.compile(r"<[a-z0-9_\-]{0,20}$", re.IGNORECASE)
_BARE_MORE = re.compile(f"{_BARE}*")
_VALUES = ("double", "single", "tick", "bare")

_NO_VALUE = re.compile(
    r"\[redacted|[<{%]|\$(?!2[aby]\$|argon|[156]\$)|\*{2,}|\.{3}|…|x{3,}$|(?:your|my|the|some|any|new|old|enter|insert)[_\-]"
    r"|(?:none|null|nil|true|false|undefined|string|str|text|varchar\S*|required|optional|empty|unset|hidden"
    r"|secret|token|api[_\-]?key|changeme|change[_\-]me|example\S*|dummy\S*|placeholder\S*|todo|tbd|n/a|redacted|masked"
    r"|removed|bytes|integer|boolean|object|char|never|expired|invalid|incorrect|wrong|correct|valid|unknown)$"
    r"|(?:os|process|env|self|this|config|settings|secrets|args|options|request|req|params|data|user|vault|ctx)[.\[]"
    r"|(?:https?|file|arn|ref\+\w+|vault|op|ssm):",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?(?:[T ][\d:.]+\S*)?$|\d\d?[.:/]\d\d?(?:[.:/]\d{1,4})?$"  # dates and times
    r"|\d{1,4}(?:-[a-z]{1,12}|[kmgbshx]|[kmg]b|ms|px|min|st|nd|rd|th|chars?|characters?|digits?|days?|hours?)$"
    r"|v?\d+(?:\.\d+)+$"  # versions
    r"|(?:sha|md|aes|rsa|utf|base|hs|rs|es|ed|bcrypt|argon|pbkdf|oauth|http|tls|ssl)-?\d{1,4}(?:[-_]\w*)?$"
    r"|[~.]{0,2}/[\w.\-]+(?:/[\w.\-]*)+$"  # paths
    r"|[a-z_]+(?:(?:\.|::|->)[a-z_]+)+$",  # attributes
    re.IGNORECASE,
)
_OWN_MARK = re.compile(r"\[redacted:[a-z\-]*$")


def _named(text: str, lower: str) -> Iterator[Finding]:
    """The values behind names such as password or token, where they look like one."""
    place = 0
    for start in _names(lower):
        match = _assignment(text, start) if start >= place else None
        if not match:
            continue
        group = next(name for name in _VALUES if match.groupdict().get(name) is not None)
        begin, end = match.span(group)
        if end - begin >= _MOST_BARE:
            place = end  # long values are judged once, even if they hold names themselves: that is linear
        if group == "bare":
            end = begin + len(text[begin:end].rstrip(".,:?*"))
        if _is_value(match, group, text[begin:end], text):
            place = end = _more(text, end) if group == "bare" and end == match.end() else end
            yield Finding("password" if _is_password_name(match) else "secret", begin, end)


def _names(lower: str) -> list[int]:
    """Where the names stand, in order."""
    places = set()
    for name in _PASSWORD_NAMES + _KEY_NAMES:
        place = lower.find(name)
        while place >= 0:
            places.add(place)
            place = lower.find(name, place + 1)
    return sorted(places)


def _assignment(text: str, start: int) -> re.Match[str] | None:
    """The name at `start` with its value: `name=value`, `--name value` or `<name>value</`."""
    window = max(0, start - 30)
    match = _ASSIGNED.match(text, start)
    if not match and _FLAG_BEFORE.search(text, window, start):
        match = _FLAG.match(text, start)
    if not match and _ELEMENT_BEFORE.search(text, window, start):
        match = _ELEMENT.match(text, start)
    if not match or _OWN_MARK.search(text, window, start):
        return None
    if match["name"].lower() == "key" and not _KIND_OF_KEY.search(text, window, start):
        return None
    return match


def _is_password_name(match: re.Match[str]) -> bool:
    return match["name"].lower() in _PASSWORD_NAMES


def _more(text: str, end: int) -> int:
    """Where a value ends that may go on behind what the pattern read of it."""
    rest = _BARE_MORE.match(text, end)
    return rest.end() if rest else end


def _is_value(match: re.Match[str], group: str, value: str, text: str) -> bool:
    """Whether what stands behind the name is a value of its own: no placeholder, no code, no prose."""
    if not value or "${" in value or "{{" in value or _NO_VALUE.match(value) or _NO_SECRET.match(value):
        return False
    quoted = group != "bare"
    if not quoted and text[match.end() : match.end() + 1] in ("(", "[", "{"):
        return False  # a call or an index
    sep = match.groupdict().get("sep") or "="
    said = sep.lower() in ("is", "was", "是", "为", "為")
    tight = quoted or _is_tight(match, text)
    if _is_password_name(match):
        return _is_password(value, quoted, said, tight)
    return _is_key(value, said)


def _is_tight(match: re.Match[str], text: str) -> bool:
    """Written like `NAME=value` on a line of its own, a query parameter, an option or an element."""
    if "sep" not in match.groupdict():
        return True
    if (
        match["sep"] != "="
        or match.start("bare") != match.end("sep")
        or match.start("sep") != match.end("close")
    ):
        return False
    before = text[max(0, match.start() - 60) : match.start()]
    return re.search(r"(?:^|[\n?&;]|--)(?:[ \t]*(?:export|set|env|-|\$)[ \t]+)?[\w.\-]*$", before) is not None


def _is_password(value: str, quoted: bool, said: bool, tight: bool) -> bool:
    """Passwords are chosen by people: short, and often a word."""
    if " " in value:
        return False
    if value.isdecimal():
        return len(value) >= 4
    if len(value) < (6 if said else 5):
        return False
    if re.search("[0-9]", value) and re.search(r"[^\W\d_]", value):
        return True
    if re.search(r"[@#$%^&*+=~]|!.", value):
        return True
    word = re.sub(r"[\W_]", "", value)
    if not tight or len(word) < 6 or re.search("pass|pwd|kennw|contrase|mot", word, re.IGNORECASE):
        return False
    return value.isascii() and (
        word == value or len(re.split(r"[\W_]+", value)) > 3 or quoted and "!" in value
    )


def _is_key(value: str, said: bool) -> bool:
    """Keys are made by machines: long, without a meaning."""
    if " " in value or value.isdecimal() and len(value) < 16:
        return False
    if said:
        return len(value) >= 16 and _mixed(value)
    if len(value) >= 8 and _mixed(value):
        return not re.fullmatch(r"[a-z]+(?:_[a-z]+)*_?\d{1,2}|[\d.,]+[a-z]{0,6}", value, re.IGNORECASE)
    cases = re.search("[a-z]", value) and re.search("[A-Z]", value)
    return (
        bool(cases)
        and len(value) >= 20
        and re.fullmatch(r"[A-Za-z0-9+/=_\-]+", value) is not None
        and (sum(a.isupper() for a in value) >= 5)
    )


_AUTH = (
    r"(?i:authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token|apikey|bot)[ \t]{1,3})"
    r"(?P<value>[A-Za-z0-9+/=._~\-]{8,})"
)
_BEARER = r"(?i:\bbearer[ \t]{1,3})(?P<value>[A-Za-z0-9+/=._~\-]{20,})"
_USERINFO = re.compile(r"://[^\s/@:?#\"'<>]{0,128}:(?P<value>[^\s/?#\"'<>]{1,256})@(?=[\w\[])")
_CURL_USER = re.compile(r"(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<value>[^\s\"']{3,128})")


def _url_passwords(text: str, lower: str) -> Iterator[Finding]:
    for pattern in (_USERINFO, _CURL_USER):
        for match in pattern.finditer(text):
            value = match["value"]
            if not re.match(r"\$|[<{%\[*]|x{3,}$|\.{3}", value, re.IGNORECASE):
                yield Finding("url-password", *match.span("value"))


# --- payment cards

_CARD = re.compile(
    r"(?<![0-9])(?:[0-9]{13,19}|[0-9]{4}(?P<a>[ \-])[0-9]{4}(?P=a)[0-9]{4}(?P=a)[0-9]{4}(?:(?P=a)[0-9]{3})?"
    r"|[0-9]{4}(?P<b>[ \-])[0-9]{6}(?P=b)[0-9]{4,5})(?![0-9])"
)
# First digits and lengths by network: https://en.wikipedia.org/wiki/Payment_card_number
_NETWORK = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|220[0-4]\d{12}"
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|3(?:0[0-5]|[689]\d)\d{11}|62\d{14,17}"
)
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9_]$|[0-9][.,\-/:]$")
_JOINED_AFTER = re.compile(r"[A-Za-z0-9_]|[.,\-/:][0-9]|[ \-][0-9]{4}")
_CARD_NAMED = re.compile(r"card|visa|credit|debit|payment|卡", re.IGNORECASE)


def _cards(text: str, lower: str) -> Iterator[Finding]:
    """Numbers of a known network that pass the check digit and do not belong to a longer number or word."""
    for match in _CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 5]
        if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):
            continue
        if _luhn(digits) and (_NETWORK.fullmatch(digits) or _is_old_visa(text, match.start(), digits)):
            yield Finding("card", *match.span())


def _is_old_visa(text: str, start: int, digits: str) -> bool:
    """13 digits with a 4 are mostly product codes: a card only where one is spoken of."""
    return (
        len(digits) == 13 and digits[0] == "4" and bool(_CARD_NAMED.search(text, max(0, start - 40), start))
    )


def _luhn(digits: str) -> bool:
    total = sum(int(d) for d in digits[-1::-2]) + sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return total % 10 == 0


_RULES: tuple[_Rule, ...] = (
    (("private key",), _private_keys),
    _shape("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    (("akia", "asia", "abia", "acca"), _aws_keys),
    _shape(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_EDGE}(?:gh[pousr]_[A-Za-z0-9]{{20,255}}|github_pat_[A-Za-z0-9_]{{22,255}})",
    ),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt-",
        rf"{_DASHED}gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_\-.]{{20,}}",
    ),
    _shape("slack-token", "xox", rf"{_DASHED}xox[abeoprs]-[A-Za-z0-9\-]{{10,}}", _mixed),
    _shape("slack-token", "xapp-", rf"{_DASHED}xapp-[0-9]-[A-Za-z0-9\-]{{20,}}"),
    _shape(
        "slack-token",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<value>[A-Za-z0-9/]{20,})",
    ),
    _shape(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        rf"{_EDGE}(?:[sr]k_(?:live|test)_[A-Za-z0-9]{{10,}}|whsec_[A-Za-z0-9+/=]{{24,}})",
    ),
    _shape("anthropic-key", "sk-ant-", rf"{_DASHED}sk-ant-[A-Za-z0-9_\-]{{20,}}"),
    _shape("openai-key", "sk-", rf"{_DASHED}sk-[A-Za-z0-9_\-]{{20,}}", _random),
    _shape(
        "google-key",
        "aiza ya29. gocspx-",
        rf"{_DASHED}(?:AIza[A-Za-z0-9_\-]{{35}}(?![A-Za-z0-9_\-])|ya29\.[A-Za-z0-9_\-]{{20,}}|GOCSPX-[A-Za-z0-9_\-]{{20,}})",
    ),
    _shape("huggingface-token", "hf_", rf"{_DASHED}hf_[A-Za-z0-9]{{30,}}(?![A-Za-z0-9_])"),
    _shape("npm-token", "npm_", rf"{_DASHED}npm_[A-Za-z0-9]{{36}}(?![A-Za-z0-9_])"),
    _shape("pypi-token", "pypi-", rf"{_DASHED}pypi-[A-Za-z0-9_\-]{{50,}}"),
    _shape("sendgrid-key", "sg.", r"(?<![A-Za-z0-9_\-.])SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}"),
    _shape("twilio-key", "sk", rf"{_EDGE}SK[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    _shape("telegram-token", ":aa", r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])"),
    _shape(
        "discord-token",
        ".",
        r"[MNO](?<![A-Za-z0-9_\-.].)[A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,38}(?![A-Za-z0-9_\-.])",
        _mixed,
    ),
    _shape("discord-token", "/api/webhooks/", r"/api/webhooks/[0-9]{17,20}/(?P<value>[A-Za-z0-9_\-]{30,})"),
    _shape("jwt", "eyj", rf"{_DASHED}eyJ[A-Za-z0-9_\-]{{8,}}\.[A-Za-z0-9_\-]{{8,}}(?:\.[A-Za-z0-9_\-]*)?"),
    _shape("authorization", "authorization", _AUTH, _encoded),
    _shape("authorization", "bearer", _BEARER, _mixed),
    (("://", "curl"), _url_passwords),
    (_PASSWORD_NAMES + _KEY_NAMES, _named),
    (tuple("0123456789"), _cards),
)
