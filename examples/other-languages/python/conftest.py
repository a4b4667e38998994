import json, os, subprocess
import pytest

@pytest.fixture(scope="session", autouse=True)
def licensing():
    command = ["node_modules/.bin/licensing-sandbox", "--json", "--stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sandbox:
        print("{}", file=sandbox.stdin, flush=True)
        line = sandbox.stdout.readline()
        assert line, "licensing-sandbox did not start: standard error says why"
        started = json.loads(line)
        os.environ.update(LICENSING_URL=started["url"], LICENSING_API_KEY=started["apiKey"])
        yield started
        sandbox.terminate()
