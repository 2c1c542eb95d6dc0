"""The server: a toolbox behind the SDK's protocol, over stdio or as an ASGI app. The one module that knows the SDK."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from mnemic import __version__
from mnemic.errors import BadInput, MnemicError
from mnemic.interfaces.mcp import reading
from mnemic.interfaces.mcp.schema import checked
from mnemic.interfaces.mcp.tools import BOX, Reply, Tool, Toolbox
from mnemic.interfaces.tokens import ACCESS, OWNER, Access, Grant

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from mnemic.memory import Memory

log = logging.getLogger(__name__)
LOCAL = ("127.0.0.1:*", "localhost:*", "[::1]:*")
HINTS: dict[Any, CacheHint] = {name: CacheHint(ttl_ms=3_600_000) for name in ("tools/list", "prompts/list", "resources/list")}
"""What never changes while the server runs may be kept by a client."""


class Lazy:
    """A home that is opened by the first call that needs it, and again where that failed."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened, self._lock = opened, threading.Lock()
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        """The memory. Raises StoreError or BadInput where its home cannot be opened."""
        with self._lock:
            if self._memory is None:
                self._memory = self._opened()
            return self._memory

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None


def stdio(opened: Callable[[], Memory], box: Toolbox = BOX) -> None:
    """Serve one client over standard input and output until it closes them."""
    from mcp.server.stdio import stdio_server

    home = Lazy(opened)
    made = server(home.memory, box)

    async def run() -> None:
        async with stdio_server() as (received, sent):
            await made.run(received, sent, made.create_initialization_options())

    try:
        anyio.run(run)
    finally:
        home.close()


def app(
    memory: Callable[[], Memory], box: Toolbox = BOX, *, path: str = "/mcp", hosts: Sequence[str] = LOCAL,
    origins: Sequence[str] = (),
) -> Starlette:  # fmt: skip
    """The ASGI app that answers at `path`. `memory` is called in worker threads, and what it gives is not closed here.

    A request whose Host is none of `hosts` (`name:port`, `*` for every port), or whose Origin is neither one of them nor
    of `origins`, is refused. Where it is mounted in another app, that app enters `app.router.lifespan_context(app)`.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    allowed = [*(f"http://{host}" for host in hosts), *origins]
    guards = TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=list(hosts), allowed_origins=allowed)
    made = server(memory, box)
    return made.streamable_http_app(streamable_http_path=path, transport_security=guards)


def owned(scope: Any) -> None:
    """Bind a session to the token that begins it: another token cannot go on with it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    name = scope[ACCESS].grant.name
    scope["user"] = AuthenticatedUser(AccessToken(token=name, client_id=name, scopes=[]))


def server(memory: Callable[[], Memory], box: Toolbox = BOX) -> Server[Any]:
    """A toolbox as a server of the SDK. `memory` is called by the first call that needs it.

    Behind the door of `mnemic serve` each request has a token, which says what memory it means and what may be done there.
    """
    listed = [(tool, _described(tool)) for tool in box.tools]
    everything = Access(Grant(name=OWNER), memory)

    def access(context: Any) -> Access:
        request = getattr(context, "request", None)
        found: Access = everything if request is None else request.scope.get(ACCESS, everything)
        return found

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        grant = access(context).grant
        return types.ListToolsResult(tools=[shown for tool, shown in listed if not grant.lacks([tool.needs])])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = box.by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}: tools/list names them")
        return await to_thread.run_sync(partial(answer, tool, access(context), params.arguments))

    async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(**row) for row in reading.RESOURCES])

    async def list_templates(context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[types.ResourceTemplate(**row) for row in reading.TEMPLATES])

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        kind, body = await to_thread.run_sync(partial(_resource, access(context), uri))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=body)])

    async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(**row) for row in reading.PROMPTS])

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        said = await to_thread.run_sync(partial(_prompt, access(context), params.name, params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=said))
        return types.GetPromptResult(messages=[message])

    made = Server[Any](
        box.name, version=__version__, title=box.title, instructions=box.instructions, cache_hints=HINTS,
        on_list_tools=list_tools, on_call_tool=call_tool, on_list_resources=list_resources,
        on_list_resource_templates=list_templates, on_read_resource=read_resource, on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )  # fmt: skip
    # The SDK's own spans repeat what an error says, and so the path of a memory; what is asked is traced at the door.
    made.middleware.clear()
    return made


def answer(tool: Tool, access: Access, arguments: dict[str, Any] | None) -> types.CallToolResult:
    """One call: check, do, show. Whatever goes wrong is an answer that says what to do next."""
    try:
        access.need(tool.needs)
        if not tool.reads:
            access.grant.vouch()
        given = checked(tool.schema, arguments, tool.name)
        reply = tool.call(access.memory(), given)
        return _shown(replace(reply, data=access.grant.walled(reply.data)) if tool.home else reply)
    except MnemicError as error:
        return _failed(reading.over_mcp(str(error)))
    except Exception as error:  # a fault of ours: its text may hold what somebody remembers, so only its kind is told
        log.error("the tool %s failed: %s", tool.name, type(error).__name__)
        return _failed(f"mnemic failed inside ({type(error).__name__}): run `mnemic doctor`; nothing was half-written")


def _shown(reply: Reply) -> types.CallToolResult:
    data = reply.structured
    rest = {name: value for name, value in data.items() if name != "memory"}
    said = [reply.frame] if reply.frame else []
    if rest or not said:
        said.append(json.dumps(rest, ensure_ascii=False, separators=(",", ":")))
    text = "\n".join(said) if reply.text is None else reply.text
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=data, is_error=reply.refused)


def _failed(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=why)], is_error=True)


def _described(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title, read_only_hint=tool.reads, destructive_hint=tool.destroys,
        idempotent_hint=tool.reads or tool.repeats, open_world_hint=False,
    )  # fmt: skip
    return types.Tool(name=tool.name, title=tool.title, description=tool.about, input_schema=tool.schema,
                      output_schema=tool.output, annotations=hints)  # fmt: skip


def _resource(access: Access, uri: str) -> tuple[str, str]:
    try:
        access.need("read")
        return reading.resource(access.memory, uri, access.grant)
    except MnemicError as error:
        raise MCPError(types.INVALID_PARAMS, reading.over_mcp(str(error)), {"uri": uri}) from None


def _prompt(access: Access, name: str, arguments: dict[str, str]) -> str:
    try:
        access.need("read")
        return reading.prompt(access.memory, name, arguments)
    except (BadInput, MnemicError) as error:
        raise MCPError(types.INVALID_PARAMS, reading.over_mcp(str(error))) from None
