"""A judge behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mnemic.errors import BadInput, MissingExtra, ModelError
from mnemic.llm.base import Judge, Reply
from mnemic.settings import LlmSettings
from mnemic.text.tokens import estimate

ATTEMPTS = 2
"""How often an answer of the wrong shape is asked for again. Faults of the connection are the SDK's own matter."""
RETRIES = 2
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def open_judge(settings: LlmSettings) -> Judge:
    """The configured judge. Raises BadInput if none is, MissingExtra without the SDK."""
    if not settings.url or not settings.model:
        raise BadInput("no language model is configured: set MNEMIC_LLM_URL and MNEMIC_LLM_MODEL, or [llm] in mnemic.toml")
    return Endpoint(settings.url, settings.model, key=settings.key.value, timeout=settings.timeout)


class Endpoint:
    """Asks `url` (the base URL, ending in /v1) for chat completions by `model`."""

    def __init__(self, url: str, model: str, *, key: str = "", timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"the llm url is {url!r}: give one like 'http://localhost:11434/v1'")
        self._url, self._model, self._key, self._timeout = url, model, key, timeout
        self.identity = f"openai/{model}"

    def __repr__(self) -> str:
        return f"Endpoint({self._url!r}, {self._model!r})"

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> Reply:
        """The answer as JSON; one of the wrong shape is asked for once more. Raises ModelError, MissingExtra."""
        openai = _openai()
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        problem, tokens = "", 0
        try:
            with openai.OpenAI(
                base_url=self._url, api_key=self._key or "none", timeout=self._timeout, max_retries=RETRIES
            ) as client:
                for _ in range(ATTEMPTS):
                    answer = client.chat.completions.create(
                        model=self._model, messages=messages, temperature=0, max_tokens=max_tokens // ATTEMPTS,
                        response_format={"type": "json_schema", "json_schema": {"name": stage, "schema": dict(schema)}},
                    )  # fmt: skip
                    text = (answer.choices[0].message.content or "") if answer.choices else ""
                    usage = answer.usage.total_tokens if answer.usage else 0
                    tokens += usage or estimate(system + prompt + text, "cjk1")
                    content, problem = _object(text)
                    if content is not None:
                        return Reply(content, tokens)
        except openai.OpenAIError as error:
            said = str(error).replace(self._key, "***") if self._key else str(error)
            raise ModelError(f"{self!r} did not answer: {type(error).__name__} {said[:200]}") from None
        raise ModelError(f"{self!r} answered nothing usable ({problem}): nothing was changed")


def _object(text: str) -> tuple[dict[str, Any] | None, str]:
    fenced = _FENCED.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        return None, f"no JSON: {error}"
    return (value, "") if isinstance(value, dict) else (None, f"JSON, but {type(value).__name__} and no object")


def _openai() -> Any:
    try:
        return import_module("openai")
    except ImportError as error:
        raise MissingExtra("openai is not installed: pip install 'mnemic[llm]'") from error
