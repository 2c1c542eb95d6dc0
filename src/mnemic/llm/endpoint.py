"""A judge behind an OpenAI-compatible endpoint.

Like any server it may be down, slow, without end, or speak a dialect of its own. One request goes out at a time and is over
by its deadline, however slowly the body comes (headers that trickle hold it up longer: the SDK gives nothing out before they
are whole); whoever keeps the budget decides whether to ask again.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from mnemic.errors import BadInput, MissingExtra
from mnemic.llm.base import Failed, Judge, Reply, bound
from mnemic.settings import LlmSettings

ANSWER_BYTES = 4 * 1024 * 1024
"""Of a response at most; an answer's tokens are far fewer."""
DIALECT = ("response_format", "temperature", "max_tokens")
"""What some servers refuse to be told, by the name that their refusal says."""
_CREDENTIALS = re.compile(r"//[^/@]*@")
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def open_judge(settings: LlmSettings) -> Judge:
    """The configured judge. Raises BadInput if none is, MissingExtra without the SDK."""
    if not settings.url or not settings.model:
        raise BadInput("no language model is configured: set MNEMIC_LLM_URL and MNEMIC_LLM_MODEL, or [llm] in mnemic.toml")
    return Endpoint(settings.url, settings.model, key=settings.key.value, timeout=settings.timeout)


class Endpoint:
    """Asks `url` (the base URL, ending in /v1) for chat completions by `model`."""

    def __init__(
        self, url: str, model: str, *, key: str = "", timeout: float = 60.0, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        """`timeout`: seconds of one request from its start to its end."""
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"the llm url is {url!r}: give one like 'http://localhost:11434/v1'")
        self._url, self._model, self._key, self._timeout, self._ticks = url, model, key, timeout, ticks
        self._refused: set[str] = set()
        self.identity = f"openai/{model}"

    def __repr__(self) -> str:
        return f"Endpoint({_CREDENTIALS.sub('//***@', self._url)!r}, {self._model!r})"

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> Reply:
        """The answer as JSON, of one request. Raises Failed, MissingExtra."""
        openai = _openai()
        asked = self._asked(stage, system, prompt, schema, max_tokens)
        try:
            body = self._sent(openai, asked)
        except openai.APITimeoutError:
            raise self._failed(f"said nothing for {self._timeout:g} s", down=True) from None
        except openai.OpenAIError as error:
            raise self._unanswered(openai, error) from None
        except TimeoutError as error:
            raise self._failed(str(error), down=True) from None
        try:
            answer = json.loads(body)
            choice = answer["choices"][0]
            text, ended = choice["message"]["content"] or "", choice.get("finish_reason")
            usage = answer.get("usage") or {}
            told = int(usage.get("total_tokens") or 0)
            tokens = told if told > 0 else bound(system) + bound(prompt) + bound(text)
        except (ValueError, OverflowError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
            raise self._failed("answered with no chat completion", down=True) from None
        content, problem = _object(str(text))
        if content is not None:
            return Reply(content, tokens)
        if ended == "length":  # the same question would be cut off again
            raise self._failed(f"answered nothing usable (cut off after {max_tokens} tokens): nothing was changed", tokens)
        remark = f"\n\nYour answer before this one was of no use ({problem[:80]}). Answer with the JSON object and nothing else."
        raise self._failed(f"answered nothing usable ({problem}): nothing was changed", tokens, wait=0.0, remark=remark)

    def _asked(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        shaped = "response_format" not in self._refused
        told = system if shaped else f"{system}\nThe object is of this JSON schema: {json.dumps(dict(schema))}"
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": told}, {"role": "user", "content": prompt}],
            "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens": max_tokens,
        }
        if shaped:
            asked["response_format"] = {"type": "json_schema", "json_schema": {"name": stage, "schema": dict(schema)}}
        if "temperature" not in self._refused:
            asked["temperature"] = 0
        return asked

    def _sent(self, openai: Any, asked: Mapping[str, Any]) -> bytes:
        """The body of the response. Raises the SDK's errors, TimeoutError past the deadline, Failed for one without end."""
        end, body = self._ticks() + self._timeout, bytearray()
        with (
            openai.OpenAI(base_url=self._url, api_key=self._key or "none", timeout=self._timeout, max_retries=0) as client,
            client.chat.completions.with_streaming_response.create(**asked) as response,
        ):
            try:
                for part in response.iter_bytes():
                    body += part
                    if self._ticks() > end:
                        raise TimeoutError(f"was not done after {self._timeout:g} s")
                    if len(body) > ANSWER_BYTES:
                        raise self._failed(f"answered more than {ANSWER_BYTES} bytes", down=True)
            except openai.OpenAIError:
                raise
            except (TimeoutError, Failed):
                raise
            except Exception as error:  # the SDK lets errors of the transport through while a body is read
                raise self._failed(f"broke off: {type(error).__name__}", wait=0.0, down=True) from None
        return bytes(body)

    def _unanswered(self, openai: Any, error: Exception) -> Failed:
        """What a refusal means: asked again later, asked again in another dialect, or not at all."""
        said = f"did not answer: {type(error).__name__} {error}"
        if isinstance(error, openai.APIConnectionError):
            return self._failed(said, 0, wait=0.0, down=True)
        status = int(getattr(error, "status_code", 0))
        if status in (408, 409, 429) or status >= 500:
            return self._failed(said, 0 if status == 429 else None, wait=_retry_after(error), down=True)
        if status in (400, 422):
            for name in DIALECT:
                if name not in self._refused and (name in said or (name == "response_format" and "json_schema" in said)):
                    self._refused.add(name)
                    return self._failed(said, 0, wait=0.0)
            return self._failed(said, 0)
        return self._failed(said, 0, down=True)

    def _failed(
        self, said: str, tokens: int | None = None, *, wait: float | None = None, remark: str = "", down: bool = False
    ) -> Failed:
        told = _CREDENTIALS.sub("//***@", said.replace(self._key, "***") if self._key else said)
        return Failed(f"{self!r} {told[:240]}", tokens=tokens, wait=wait, remark=remark, down=down)


def _retry_after(error: Exception) -> float:
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after", "") if response is not None else ""
    return float(value) if re.fullmatch(r"\d{1,6}(?:\.\d+)?", value) else 0.0


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
