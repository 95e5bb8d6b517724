"""A table of what models cost, out of journals: per scenario calls, bytes, tokens, seconds.

usage: calls.py EVENTS.JSONL [...]
"""

import json
import math
import os
import sys


def wilson(passed, of, z=1.959964):
    """95 % interval of a rate, as the runner gives it."""
    if not of:
        return 0.0, 1.0
    p = passed / of
    middle = p + z * z / (2 * of)
    half = z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return max(0.0, (middle - half) / (1 + z * z / of)), min(1.0, (middle + half) / (1 + z * z / of))


def main(files):
    tasks = {}
    # `latest` leads to a run that is named already.
    for name in sorted({os.path.realpath(name) for name in files}):
        for line in open(name, encoding="utf-8"):
            event = json.loads(line)
            if not event.get("scenario"):
                continue
            task = tasks.setdefault(event["scenario"], {"ends": [], "bytes": [], "calls": 0, "tokens": 0, "ms": 0})
            if event["event"] == "model_called":
                task["bytes"].append(event["prompt_bytes"])
            elif event["event"] == "scenario_finished":
                task["ends"].append(event["as_expected"])
                task["calls"] += event["model_calls"]
                task["tokens"] += event["tokens"]
                task["ms"] += event["ms"]
    print("| task | passed | 95 % | calls a run | bytes a call (median, most) | tokens a run | seconds a run |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, task in sorted(tasks.items()):
        runs = len(task["ends"]) or 1
        low, high = wilson(sum(task["ends"]), len(task["ends"]))
        sizes = sorted(task["bytes"]) or [0]
        print(
            f"| {name} | {sum(task['ends'])}/{len(task['ends'])} | {low:.0%} to {high:.0%} "
            f"| {task['calls'] / runs:.1f} | {sizes[len(sizes) // 2]}, {sizes[-1]} "
            f"| {task['tokens'] / runs:.0f} | {task['ms'] / 1000 / runs:.1f} |"
        )


main(sys.argv[1:])
