"""Settings: one frozen value, read once, from arguments, environment, file and defaults, in that order.

`load` is the only place that knows the shape of `mnemic.toml` and, with `environment`, the names of environment variables.
An unknown key is an error that lists the known ones: a mistyped setting must not be silently ignored.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from mnemic.environment import home_folder, shown_url, store_url
from mnemic.errors import BadInput

EmbedderName = Literal["hashing", "onnx", "http"]
NAMESPACE_CHARS = 200
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that never shows itself."""

    value: str

    def __repr__(self) -> str:
        return "Secret('…')"

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """`[store]`: a database in place of the files in the home, and how it is used."""

    url: Secret = Secret("")
    """`postgresql://USER@HOST/DATABASE`; empty: SQLite files in the home."""
    connections: int = 10
    """That one process holds at most."""
    partitions: int = 8
    """Into how many parts the large tables of a new database go."""
    replicas: tuple[Secret, ...] = ()
    """URLs of servers that follow it as hot standbys, which recall may ask."""
    worker: bool = False
    """Whether `mnemic worker` embeds and tends, and what writes or serves does not. Of no effect on a folder."""

    @property
    def deferred(self) -> bool:
        """Whether embedding and tending are left to a worker."""
        return self.worker and bool(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedSettings:
    """`[embed]`: which embedder, and where it is."""

    embedder: EmbedderName | None = None
    """hashing: words and structure alone, always there. onnx: a model on this machine. http: a server's. Where none is named:
    the one that the home was last embedded by (`mnemic reembed`), else hashing."""
    model: str | None = None
    """onnx: a folder with model.onnx and tokenizer.json, or a hub name. http: the model's name."""
    url: str | None = None
    """http: the base URL of an OpenAI-compatible server."""
    key: Secret = Secret("")
    """http: the key that the server asks for."""
    dim: int | None = None
    """http: how many numbers a vector has; another count is refused."""
    threads: int = 2
    """onnx: threads of the model."""
    download: bool = False
    """Whether a hub name may be downloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """`[capture]`: when a conversation is flushed, and the limits of a text."""

    idle_seconds: float = 1.5
    """A running conversation is written once it has been silent for so long."""
    max_buffered: int = 60
    """Turns after which it is written anyway."""
    retry_seconds: int = 120
    """How long after a failed embedding it is tried again."""
    max_chars: int = 10_000_000
    """The longest text that is taken."""
    redact: bool = True
    """Whether secrets are replaced before anything is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """`[recall]`: the scoring and its budgets (000 §4; numbers: digest §1.10)."""

    scoring: str = "structure"
    """The formula: structure, or seed, the first design's."""
    nodes: int = 6
    """Hits of an answer, at most."""
    chars: int = 4_000
    """Characters of an answer, at most."""
    node_chars: int = 900
    """Characters of one hit, at most."""
    mode: str | None = None
    """Which tiers are asked: heartbeat, normal, deep or creative (001 §2.4); else normal, and more where nothing fits."""
    reranker: str | None = None
    """A folder with the model.onnx and tokenizer.json of a cross-encoder, or a hub name."""
    rerank_seconds: float = 1.0
    """What a question waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """`[llm]`: the language model that may be asked for proposals; none unless `url` and `model` are set."""

    url: str | None = None
    """The base URL of an OpenAI-compatible server."""
    model: str | None = None
    """The model's name there."""
    key: Secret = Secret("")
    """The key that the server asks for."""
    calls: int = 4
    """Calls that one run may make."""
    tokens: int = 40_000
    """Tokens that one run may cost, prompts included."""
    timeout: float = 60.0
    """Seconds of one request, from its start to its end."""
    context: int = 8_192
    """Tokens that the model can see, question and answer together; what is longer is parted or clipped."""
    dream_calls: int = 200
    """Calls that one dream may make."""
    dream_tokens: int = 400_000
    """Tokens that one dream may cost, prompts included."""
    price: float = 0.0
    """What a million tokens cost, in any currency."""
    dream_money: float = 0.0
    """What one dream may cost in it; 0: no limit but the tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How one type of memory fades (001 §2.2). Days are whole days since the last use, each the last day of its tier."""

    rate: float = 0.015
    """Relevance that is lost a day."""
    floor: float = 0.1
    """Relevance below which nothing falls."""
    active: int = 7
    """Its last day as active, without a use."""
    warm: int = 21
    """Its last day as warm."""
    cold: int = 60
    """Its last day as cold; then it is in the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySettings(Curve):
    """`[decay]`: the curve of all types, and in `[decay.types.KIND]` those of single ones."""

    timer: bool = True
    """Whether `Memory.tend` looks after it."""
    cards: bool = True
    """Whether it writes tier, relevance and last use at the head of cards."""
    types: Mapping[str, Curve] = field(default_factory=dict)
    """Kind of document → what is different for it."""

    def of(self, kind: str) -> Curve:
        """The curve of a kind of document."""
        return self.types.get(kind, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateSettings:
    """`[rotate]`: when documents move to another shelf (000 §5), and what sets it off."""

    warm_days: int = 30
    """From this age on, in days, a document leaves the hot shelf."""
    cold_days: int = 180
    """Above this age it stands on the cold one."""
    drop_cold_vectors: bool = False
    """Whether the cold shelf is searched by words alone."""
    vacuum: bool = False
    """Whether the hot file is shrunk after a rotation."""
    timer: bool = True
    """Whether `Memory.tend` and what serves rotate."""
    at_start: bool = True
    """Whether a server does so after its start."""
    by_hand: bool = True
    """Whether `mnemic rotate` may."""
    every_hours: int = 6
    """How often the timer does, at most."""
    start_seconds: int = 60
    """How long after its start a server waits before it tends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamSettings:
    """`[dream]`: whether what serves lets conversations become articles."""

    timer: bool = False
    """Whether `Memory.tend` dreams too; `mnemic dream` always does."""
    judge: str = "rules"
    """Whom it asks: rules, endpoint or agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """`[vault]`: where the Markdown files are, and what may be done with git."""

    folder: str = ""
    """Else `vault` in the home; `~` and paths relative to the home are understood."""
    namespace: str = "default"
    """Whose memory that folder is; every other namespace has a folder of its own below `vaults`."""
    git: str = "own"
    """own: a repository that mnemic makes; any: commit also into one of yours around it; off."""
    folders: dict[str, str] = field(default_factory=dict)
    """Type of card → its folder, e.g. `contact = "cards/people"`."""
    daily: bool = True
    """Whether a sync and a session's start mirror what was captured into the day's note; `mnemic daily` always does."""
    timezone: str = "UTC"
    """Whose midnight parts the daily notes, e.g. `Europe/Lisbon`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much one namespace may ask and hold."""

    requests_per_minute: int = 0
    """That one `mnemic serve` answers: a minute's worth at once, then evenly. 0: no limit. Each process counts by itself."""
    nodes: int = 0
    """Passages that it may hold; what would add to them is refused from there on. 0: no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(Limit):
    """`[limits]`: the limits of every namespace, and in `[limits.namespaces."NAME"]` those of single ones."""

    namespaces: Mapping[str, Limit] = field(default_factory=dict)
    """Namespace → what is different for it."""

    def of(self, namespace: str) -> Limit:
        """The limits of a namespace."""
        return self.namespaces.get(namespace, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set."""

    home: Path
    namespace: str = "default"
    config: Path = Path("~/.config/mnemic")
    """The folder outside the home where the ledger's heads are noted."""
    now: datetime | None = None
    store: StoreSettings = field(default_factory=StoreSettings)
    embed: EmbedSettings = field(default_factory=EmbedSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    decay: DecaySettings = field(default_factory=DecaySettings)
    rotate: RotateSettings = field(default_factory=RotateSettings)
    dream: DreamSettings = field(default_factory=DreamSettings)
    vault: VaultSettings = field(default_factory=VaultSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)

    @property
    def place(self) -> str:
        """Where the home is, as it may be shown and named again: its folder, or its database without the password."""
        return shown_url(self.store.url.value) if self.store.url else str(self.home)


def load(
    environ: Mapping[str, str],
    *,
    home: str | Path | None = None,
    namespace: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a home. Raises BadInput naming the key or variable that is wrong."""
    folder = Path(home_folder(environ, home))
    parts = _read(folder / "mnemic.toml")
    space = namespace or environ.get("MNEMIC_NAMESPACE") or parts.pop("namespace", "default")
    parts.pop("namespace", None)
    settings = Settings(
        home=folder,
        namespace=checked_namespace(space),
        config=_config(environ),
        now=_moment(environ.get("MNEMIC_NOW")),
        store=_section(StoreSettings, parts.pop("store", {}), "store"),
        embed=_section(EmbedSettings, parts.pop("embed", {}), "embed"),
        capture=_section(CaptureSettings, parts.pop("capture", {}), "capture"),
        recall=_section(RecallSettings, parts.pop("recall", {}), "recall"),
        llm=_section(LlmSettings, parts.pop("llm", {}), "llm"),
        decay=_decay(parts.pop("decay", {})),
        rotate=_section(RotateSettings, parts.pop("rotate", {}), "rotate"),
        dream=_section(DreamSettings, parts.pop("dream", {}), "dream"),
        vault=_section(VaultSettings, parts.pop("vault", {}), "vault"),
        limits=_limits(parts.pop("limits", {})),
    )
    if parts:
        raise BadInput(f"mnemic.toml: unknown {sorted(parts)[0]!r}; known are namespace, store, embed, capture, recall,"
                       " llm, decay, rotate, dream, vault, limits")
    if url := store_url(environ, home):
        settings = replace(settings, store=replace(settings.store, url=Secret(url)))
    if replicas := environ.get("MNEMIC_REPLICAS"):
        settings = replace(settings, store=replace(settings.store, replicas=_replicas(replicas.split(), "MNEMIC_REPLICAS")))
    settings = replace(
        settings, embed=_from_environment(settings.embed, environ), llm=_llm_from_environment(settings.llm, environ)
    )
    if reranker := environ.get("MNEMIC_RERANKER_DIR"):
        settings = replace(settings, recall=replace(settings.recall, reranker=reranker))
    for section, values in (overrides or {}).items():
        settings = replace(settings, **{section: replace(getattr(settings, section), **values)})
    return settings


def checked_namespace(name: object) -> str:
    """A namespace's name, or BadInput: text without control characters, at most 200 characters."""
    if not isinstance(name, str) or not name.strip() or len(name) > NAMESPACE_CHARS or not name.isprintable():
        raise BadInput(f"namespace {str(name)[:50]!r} cannot be used: give 1 to {NAMESPACE_CHARS} printable characters")
    return name


def _config(environ: Mapping[str, str]) -> Path:
    if folder := environ.get("MNEMIC_CONFIG"):
        return Path(folder).expanduser().absolute()
    base = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or "~") / ".config"
    return Path(base).expanduser().absolute() / "mnemic"


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"MNEMIC_NOW {text!r} is not an ISO 8601 time: write e.g. 2026-11-30T12:00:00Z") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadInput(f"{str(file)!r} cannot be read ({error}): correct or remove it") from None


def _section(kind: type[T], values: Any, name: str) -> T:
    if not isinstance(values, dict):
        raise BadInput(f"mnemic.toml: [{name}] must be a table")
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in known:
            raise BadInput(f"mnemic.toml: unknown key {key!r} in [{name}]; known are {', '.join(known)}")
        if str(known[key].type) == "Secret":
            values = {**values, key: Secret(str(value))}
        elif str(known[key].type) == "tuple[Secret, ...]":
            values = {**values, key: _replicas(value, f"mnemic.toml: {name}.{key}")}
        elif not _fits(value, str(known[key].type)):
            raise BadInput(f"mnemic.toml: {name}.{key} = {value!r} is not of the right kind ({known[key].type})")
    if name == "store" and values.get("url") and store_url({}, values["url"].value) is None:
        raise BadInput("mnemic.toml: store.url is no URL of a database: write postgresql://USER@HOST/DATABASE")
    if name == "store" and not (values.get("connections", 1) > 0 and 0 < values.get("partitions", 1) <= 256):
        raise BadInput("mnemic.toml: [store] needs connections above 0, and partitions from 1 to 256")
    if name == "embed" and values.get("embedder", "hashing") not in get_args(EmbedderName):
        raise BadInput(f"mnemic.toml: embed.embedder {values['embedder']!r} is unknown: hashing, onnx or http")
    if name == "dream" and values.get("judge", "rules") not in ("rules", "endpoint", "agent"):
        raise BadInput(f"mnemic.toml: dream.judge {values['judge']!r} is unknown: rules, endpoint or agent")
    if name == "vault" and values.get("git", "own") not in ("own", "any", "off"):
        raise BadInput(f"mnemic.toml: vault.git {values['git']!r} is unknown: own, any or off")
    if name == "vault" and values.get("timezone", "UTC") != "UTC":
        _check_zone(values["timezone"])
    return kind(**values)


def _replicas(urls: Any, where: str) -> tuple[Secret, ...]:
    """URLs of databases, none of which is shown where one is wrong."""
    if not isinstance(urls, list) or not all(isinstance(url, str) and store_url({}, url) for url in urls):
        raise BadInput(f"{where} must be URLs of databases: write postgresql://USER@HOST/DATABASE for each")
    return tuple(Secret(url) for url in urls)


def _check_zone(name: str) -> None:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise BadInput(f"mnemic.toml: vault.timezone {name!r} is unknown here: write e.g. Europe/Lisbon") from None


def _apart(values: Any, name: str, whole: type[T], each: type[U], single: str) -> tuple[T, dict[str, U]]:
    """A section, and the tables in it for single kinds; what one of these does not say it has from the section."""
    kinds = values.get(single, {}) if isinstance(values, dict) else {}
    if not isinstance(kinds, dict):
        raise BadInput(f"mnemic.toml: [{name}.{single}] must hold a table for each of them")
    base = values if not isinstance(values, dict) else {key: value for key, value in values.items() if key != single}
    settings = _section(whole, base, name)
    own = {item.name: getattr(settings, item.name) for item in fields(each)}  # type: ignore[arg-type]
    found = {}
    for kind, given in kinds.items():
        _section(each, given, f"{name}.{single}.{kind}")
        found[kind] = each(**{**own, **given})
    return settings, found


def _limits(values: Any) -> LimitSettings:
    """`[limits]`; what a namespace does not say it has from there."""
    settings, found = _apart(values, "limits", LimitSettings, Limit, "namespaces")
    return replace(settings, namespaces={checked_namespace(name): limit for name, limit in found.items()})


def _decay(values: Any) -> DecaySettings:
    """`[decay]`; what a type does not say it has from there."""
    settings, curves = _apart(values, "decay", DecaySettings, Curve, "types")
    for name, curve in {"decay": settings, **{f"decay.types.{kind}": curve for kind, curve in curves.items()}}.items():
        if not curve.active < curve.warm < curve.cold or not 0 <= curve.floor <= 1:
            raise BadInput(f"mnemic.toml: [{name}] needs active < warm < cold in days, and a floor from 0 to 1")
    return replace(settings, types=curves)


def _fits(value: Any, annotation: str) -> bool:
    if annotation.startswith("bool"):
        return isinstance(value, bool)
    if annotation.startswith("int"):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if annotation.startswith("float"):
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if annotation.startswith("dict"):
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return isinstance(value, str)


def _from_environment(embed: EmbedSettings, environ: Mapping[str, str]) -> EmbedSettings:
    name = environ.get("MNEMIC_EMBEDDER")
    if name:
        if name not in get_args(EmbedderName):
            raise BadInput(f"MNEMIC_EMBEDDER {name!r} is unknown: hashing, onnx or http")
        embed = replace(embed, embedder=name)  # type: ignore[arg-type]
    if folder := environ.get("MNEMIC_MODEL_DIR"):
        embed = replace(embed, model=folder) if embed.embedder == "onnx" else embed
    if model := environ.get("MNEMIC_MODEL"):
        embed = replace(embed, model=model)
    if url := environ.get("MNEMIC_EMBED_URL"):
        embed = replace(embed, url=url)
    if key := environ.get("MNEMIC_EMBED_KEY"):
        embed = replace(embed, key=Secret(key))
    if environ.get("MNEMIC_DOWNLOAD") in ("1", "true", "yes"):
        embed = replace(embed, download=True)
    return embed


def _llm_from_environment(llm: LlmSettings, environ: Mapping[str, str]) -> LlmSettings:
    if url := environ.get("MNEMIC_LLM_URL"):
        llm = replace(llm, url=url)
    if model := environ.get("MNEMIC_LLM_MODEL"):
        llm = replace(llm, model=model)
    if key := environ.get("MNEMIC_LLM_KEY"):
        llm = replace(llm, key=Secret(key))
    return llm
