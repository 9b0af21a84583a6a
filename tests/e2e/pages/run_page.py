"""Runs the blocks of one page in order, as a reader would.

Standard input has a JSON list of blocks, each with line, language and code. Standard output gets
a line of JSON for each: whether it succeeded, and what it printed. Blocks of Python share their
names; blocks of sh share their variables, but not their functions.
"""

import ast
import asyncio
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import traceback

# Callers of the server send the key of the page. curl fails where the server refuses a call.
PRELUDE = r"""
set -euo pipefail
if [ -f "$PAGE_STATE" ]; then . "$PAGE_STATE"; fi
set -a
curl() {
  command curl --silent --show-error --fail-with-body \
    -H "authorization: Bearer $RECOLLECT_API_KEY" "$@"
}
grpcurl() { command grpcurl -H "authorization: Bearer $RECOLLECT_API_KEY" "$@"; }
"""
SAVE = '\nexport -p > "$PAGE_STATE"\n'
TIMEOUT = 60  # seconds
names = {"__name__": "__main__"}


def run_python(code, line):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            compiled = compile(code, f"line {line}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            waiting = eval(compiled, names)
            if asyncio.iscoroutine(waiting):
                asyncio.run(waiting)
        return True, printed.getvalue(), ""
    except BaseException:  # A block may also call sys.exit.
        return False, printed.getvalue(), traceback.format_exc()


def run_sh(code, line):
    running = subprocess.Popen(
        ["bash", "-c", PRELUDE + code + SAVE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = running.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        return False, "", f"took longer than {TIMEOUT} seconds"
    return running.returncode == 0, stdout, stderr


os.environ["PAGE_STATE"] = os.path.abspath("page-state")
answers = sys.stdout
for block in json.load(sys.stdin):
    run = {"python": run_python, "sh": run_sh}[block["language"]]
    success, stdout, stderr = run(block["code"], block["line"])
    answer = {"line": block["line"], "success": success, "stdout": stdout, "stderr": stderr}
    print(json.dumps(answer), file=answers, flush=True)
