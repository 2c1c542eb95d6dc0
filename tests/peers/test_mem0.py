"""The real client of mem0 against ours. Opt-in: with its own needs (225 MB, another protobuf) it lives in a place of its own.

python -m venv M && M/bin/pip install mem0ai==2.2.1
MNEMIC_MEM0=M/bin/python pytest tests/peers/test_mem0.py
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from mnemic.interfaces.integrations.mem0_rest import mem0_app
from mnemic.interfaces.rest.app import application
from mnemic.interfaces.tokens import Tokens
from tests.interfaces.integrations.homes import home

PYTHON = os.environ.get("MNEMIC_MEM0", "")
SCRIPT = """
import json, sys
from mem0 import MemoryClient
client = MemoryClient(api_key=sys.argv[2], host=sys.argv[1])
added = client.add([{"role": "user", "content": "I like the window seat."}], user_id="ada", metadata={"topic": "travel"})
number = added["results"][0]["id"]
again = client.add("I like the window seat.", user_id="ada")
found = client.search("Where does she sit, by the window?", filters={"user_id": "ada"})
listed = client.get_all(filters={"AND": [{"user_id": "ada"}, {"topic": "travel"}]})
client.update(number, text="I like the aisle.")
row, history = client.get(number), client.history(number)
other = client.add("I keep bees.", user_id="bob")["results"][0]["id"]
client.batch_update([{"memory_id": other, "text": "I keep three bees."}])
bees = client.get(other)["memory"]
client.batch_delete([{"memory_id": other}])
client.delete(number)
client.add("one", user_id="ada")
client.delete_all(user_id="ada")
left = client.get_all(filters={"user_id": "*"})
try:
    client.get(number)
    gone = "no"
except Exception as error:
    gone = type(error).__name__
print(json.dumps([added, again, found, listed, row, history, bees, left, gone]))
"""


@pytest.mark.skipif(not Path(PYTHON or "/nowhere").is_file(), reason="set MNEMIC_MEM0 to a Python with mem0ai 2.2")
@pytest.mark.parametrize("place", ["", "/mem0"])
def test_the_real_client_adds_finds_changes_and_deletes(tmp_path: Path, place: str) -> None:
    """By itself, and behind the door of `mnemic serve` with the token of a namespace."""
    import uvicorn

    with home(tmp_path) as memory:
        app = application(memory, "the-token-of-the-owner") if place else mem0_app(memory)
        token = Tokens(memory.settings.home, memory.clock).add("mem0", scopes=["read", "write"], namespaces=["work"])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="warning")
        server = uvicorn.Server(config)
        listening = config.bind_socket()
        listening.listen()  # a client that comes before the server is ready waits
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}{place}"
            environ = {"HOME": str(tmp_path), "MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path / "mem0"),
                       "PATH": os.environ["PATH"]}  # fmt: skip
            done = subprocess.run([PYTHON, "-c", SCRIPT, url, token], env=environ, capture_output=True, text=True, timeout=120)
        finally:
            server.should_exit = True
            thread.join(30)
            listening.close()
    assert done.returncode == 0, done.stderr
    added, again, found, listed, row, history, bees, left, gone = json.loads(done.stdout.splitlines()[-1])
    number = added["results"][0]["id"]
    assert added["results"] == [{"id": number, "memory": "I like the window seat.", "event": "ADD"}]
    assert again["results"][0] == {"id": number, "memory": "I like the window seat.", "event": "NONE"}
    assert [one["id"] for one in found["results"]] == [number] and found["results"][0]["score"] > 0
    assert (listed["count"], listed["results"][0]["metadata"]) == (1, {"topic": "travel"})
    assert (row["memory"], row["user_id"]) == ("I like the aisle.", "ada")
    assert [one["event"] for one in history] == ["ADD", "UPDATE"]
    assert (bees, left["results"], gone) == ("I keep three bees.", [], "MemoryNotFoundError")
