"""MiniWoB++ as a suite of this runner: one scenario for each task, at a fixed seed.

Two passes, both by the runner itself. `probe OUT` writes scenarios that start an episode and extract its
goal; `write OUT RUN` turns what they read into listed steps by the rules below (no model, no look at
the answer) and expects the page to say that the episode was won. `table RUN` prints what came of it.
`serve PAGES PORT` gives out the pages with the seed put in.
"""

import functools
import http.server
import json
import pathlib
import re
import sys

SEED = "7"
SITE = "http://127.0.0.1:{port}"

# Before each episode the seed; a limit so far away that the reward does not shrink with time.
PATCH = f"""<script>
const startReal = core.startEpisodeReal;
core.startEpisodeReal = function () {{
  Math.seedrandom('{SEED}');
  core.EPISODE_MAX_TIME = 1e9;
  return startReal.apply(this, arguments);
}};
</script>
"""

ORDER = {"1st": 1, "2nd": 2, "3rd": 3}
DAYS = "#ui-datepicker-div"


def css(selector):
    return {"css": selector}


def click(target):
    return [{"click": target}]


def named(role, name):
    return {"role": role, "name": name, "exact": True}


SUBMIT = click("button \"Submit\"")


def fill(selector, value):
    return [{"fill": css(selector), "with": value}]


def quoted(goal):
    return re.findall(r'"(.*?)"', goal)


def number(word):
    return int(re.match(r"\d+", word).group())


# ---- the rules: what a goal's words ask for ---------------------------------------------------


def click_button(seen):
    words = quoted(seen["goal"]) or re.findall(r"button (\w+)", seen["goal"])
    return [step for word in words for step in click(named("button", word))] or click("button \"Click Me!\"")


def click_text(seen):
    return click({"text": quoted(seen["goal"])[0]})


def click_dialog(seen):
    word = quoted(seen["goal"])[0]
    return click(named("button", "Close" if word == "x" else word))


def click_tab(seen):
    return click(named("tab", re.search(r"Tab #\d+", seen["goal"]).group()))


def in_panels(seen):
    """The word lies in one of the panels, which were opened one after the other to be read."""
    word = quoted(seen["goal"])[0]
    at = next(i for i in range(3) if word in (seen.get(f"panel{i}") or "").split())
    return open_panel(at) + [{"click": {"text": word}, "nth": 1}]


def open_panel(at):
    return [{"click": css("#area [role=tab]"), "nth": at + 1}]


def read_panels(count):
    """Steps that open and read each panel."""
    shown = "#area [role=tabpanel]:not([aria-hidden=true])"
    return [step for i in range(count) for step in open_panel(i) + [{"wait": {"seconds": 1}}, {"extract": {f"panel{i}": shown}}]]


def collapsible(seen):
    return [{"click": css("#area [role=tab]"), "nth": 1}] + SUBMIT


def choose_list(seen):
    option = re.search(r"Select (.*) from the list", seen["goal"]).group(1)
    return [{"select": option, "in": css("#area select")}] + SUBMIT


def boxes(seen):
    names = re.search(r"Select (.*) and click Submit", seen["goal"]).group(1)
    wanted = [] if names == "nothing" else names.split(", ")
    return [{"check": name} for name in wanted] + SUBMIT


def menu(seen):
    *outer, last = re.search(r"Select (.*)", seen["goal"]).group(1).strip().split(">")
    return [{"hover": {"text": name}} for name in outer] + click({"text": last})


def menu_2(seen):
    return click(named("button", "Menu")) + [{"hover": {"text": "Playback"}}] + click({"text": quoted(seen["goal"])[-1]})


WIDGETS = {"text": "input[type=text]", "textarea": "textarea", "button": "button",
           "radio": "input[type=radio]", "checkbox": "input[type=checkbox]"}


def widget(seen):
    return [{"click": css(f"#area {WIDGETS[quoted(seen['goal'])[0]]}"), "nth": 1}]


def focus(seen):
    order = re.search(r"(\d)\w\w input", seen["goal"])
    return [{"click": css("#area input"), "nth": int(order.group(1)) if order else 1}]


def enter_text(seen):
    text = quoted(seen["goal"])[0]
    if "upper case" in seen["goal"]:
        text = text.upper()
    if "lower case" in seen["goal"]:
        text = text.lower()
    return fill("#tt", text) + SUBMIT


def enter_password(seen):
    text = quoted(seen["goal"])[0]
    return fill("#password", text) + fill("#verify", text) + SUBMIT


def enter_date(seen):
    month, day, year = re.search(r"(\d+)/(\d+)/(\d+)", seen["goal"]).groups()
    return fill("#tt", f"{year}-{month}-{day}") + SUBMIT


def enter_time(seen):
    hour, minute, half = re.search(r"(\d+):(\d+) (AM|PM)", seen["goal"]).groups()
    hour = int(hour) % 12 + (12 if half == "PM" else 0)
    return fill("#tt", f"{hour:02}:{minute}") + SUBMIT


def login(button):
    def steps(seen):
        user, password = quoted(seen["goal"])
        return fill("#username", user) + fill("#password", password) + click(named("button", button))
    return steps


def find_word(seen):
    at = number(re.search(r"(\d+)\w\w word", seen["goal"]).group(1))
    word = seen["paragraph"].split()[at - 1]
    return fill("#answer-input", re.sub(r"[.,]", "", word)) + SUBMIT


def copy_paste(seen):
    which = re.search(r"(\d)\w\w text area", seen["goal"])
    return fill("#answer-input", seen["copies"][int(which.group(1)) - 1 if which else 0]["text"]) + SUBMIT


def form_2(seen):
    radio, text, box = re.search(r'the (\w+) radio button .* "(.*?)" into the (\w+) textbox', seen["goal"]).groups()
    return [{"check": css("#area input[type=radio]"), "nth": ORDER[radio]}] + fill(f"#input-{ORDER[box]}", text) + SUBMIT


def form_3(seen):
    option, button = re.search(r'Choose (.*) from the dropdown, then click the button labeled "(.*)"', seen["goal"]).groups()
    return [{"select": option, "in": css("#dropdown")}] + click(named("button", button))


def read_table(seen):
    label = re.search(r"value of (.*) into", seen["goal"]).group(1)
    return fill("#tt", dict(map(tuple, seen["pairs"]))[label]) + SUBMIT


def read_table_2(seen):
    values = dict(map(tuple, seen["pairs"]))
    return [step for i in (1, 2) for step in fill(f"#tt{i}", values[seen[f"label{i}"].rstrip(": ")])] + SUBMIT


def search_engine(seen):
    at = number(re.search(r"(\d+)\w\w search result", seen["goal"]).group(1)) - 1
    pages = click({"text": ">"}) * (at // 3)
    result = [{"click": css("#page-content .search-title"), "nth": at % 3 + 1}]
    return fill("#search-text", quoted(seen["goal"])[0]) + click(named("button", "Search")) + pages + result


def algebra(seen):
    left, right = re.search(r"(.*?=.*?\d+)\s*x\s*=\s*$", seen["area"].split("Submit")[0].strip(), re.S).group(1).split("=")
    terms = re.sub(r"\s", "", left)
    value = next(x for x in range(-999, 1000) if eval_(terms, x) == int(right))
    return fill("#math-answer", str(value)) + SUBMIT


def eval_(terms, x):
    """Sums and differences of numbers and x."""
    return sum((-1 if sign == "-" else 1) * (x if term == "x" else int(term)) for sign, term in re.findall(r"([+-]?)(x|\d+)", terms))


def arithmetic(seen):
    a, sign, b = re.search(r"(-?\d+)\s*([x+-])\s*(-?\d+)", seen["area"]).groups()
    a, b = int(a), int(b)
    return fill("#math-answer", str({"x": a * b, "+": a + b, "-": a - b}[sign])) + SUBMIT


def transform(seen):
    return fill("#tt", re.sub(r"\s|Submit", "", seen["area"])) + SUBMIT


def spinner(seen):
    return fill("#spinner", re.search(r"Select (-?\d+)", seen["goal"]).group(1)) + SUBMIT


def odd_or_even(seen):
    rows = [int(row["number"]) for row in seen["rows"]]
    marks = [{"click": css("#area .even" if value % 2 == 0 else "#area .odd"), "nth": i + 1} for i, value in enumerate(rows)]
    return marks + SUBMIT


def tree(seen):
    return click({"text": quoted(seen["goal"])[0]})


def date(seen):
    month, day, _ = re.search(r"(\d+)/(\d+)/(\d+)", seen["goal"]).groups()
    back = [{"click": css(f"{DAYS} .ui-datepicker-prev")}] * (12 - int(month))
    return click(css("#datepicker")) + back + click({"text": str(int(day))}) + SUBMIT


def agreement(seen):
    return click(named("button", "Cancel")) if "cancel" in seen["goal"] else click(named("button", "Agree"))


def mail(action):
    def steps(seen):
        sender = re.search(r"email by (\w+)", seen["goal"]).group(1)
        at = next(i for i, row in enumerate(seen["mails"]) if row["sender"] == sender)
        return [{"click": css(f"#main .email-thread .{action}"), "nth": at + 1}]
    return steps


def post(seen):
    user, what = re.search(r'user (@\w+), click on the "(.*)" button', seen["goal"]).groups()
    at = next(i for i, row in enumerate(seen["posts"]) if row["user"] == user)
    return [{"click": css(f"#area .media .{what.lower()}"), "nth": at + 1}]


PAIRS = {"cells": {"each": "#tab tr", "fields": {"label": "td:nth-child(1)", "value": "td:nth-child(2)"}}}
DATES = dict.fromkeys(["choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay"], (date, {}))
PANELS = {"click-tab-2": 3, "click-tab-2-easy": 1, "click-tab-2-medium": 2, "click-tab-2-hard": 3,
          "click-collapsible-2": 3, "click-collapsible-2-nodelay": 3}
TABS = dict.fromkeys(PANELS, (in_panels, {}))
# Task: its rule, and what the rule needs to know beside the goal and the text under test.
TASKS = {
    "click-test": (click_button, {}), "click-test-2": (click_button, {}), "click-test-transfer": (click_button, {}),
    "click-button": (click_button, {}), "click-button-sequence": (click_button, {}), "unicode-test": (click_button, {}),
    "click-link": (click_text, {}), "click-dialog": (click_dialog, {}), "click-dialog-2": (click_dialog, {}),
    "click-tab": (click_tab, {}), **TABS, **DATES,
    "click-collapsible": (collapsible, {}), "click-collapsible-nodelay": (collapsible, {}),
    "choose-list": (choose_list, {}), "click-option": (boxes, {}), "click-checkboxes": (boxes, {}),
    "click-checkboxes-large": (boxes, {}), "click-checkboxes-transfer": (boxes, {}),
    "click-menu": (menu, {}), "click-menu-2": (menu_2, {}), "click-widget": (widget, {}),
    "focus-text": (focus, {}), "focus-text-2": (focus, {}),
    "enter-text": (enter_text, {}), "enter-text-2": (enter_text, {}), "enter-text-dynamic": (enter_text, {}),
    "enter-password": (enter_password, {}), "enter-date": (enter_date, {}), "enter-time": (enter_time, {}),
    "login-user": (login("Login"), {}), "find-word": (find_word, {"paragraph": "#area p"}),
    "copy-paste": (copy_paste, {"copies": {"each": "#area textarea", "fields": {"text": ":scope"}}}),
    "copy-paste-2": (copy_paste, {"copies": {"each": "#area textarea", "fields": {"text": ":scope"}}}),
    "form-sequence-2": (form_2, {}), "form-sequence-3": (form_3, {}),
    "read-table": (read_table, PAIRS), "read-table-2": (read_table_2, {**PAIRS, "label1": "#ll1", "label2": "#ll2"}),
    "search-engine": (search_engine, {}), "simple-algebra": (algebra, {}), "simple-arithmetic": (arithmetic, {}),
    "text-transform": (transform, {}), "use-spinner": (spinner, {}), "navigate-tree": (tree, {}),
    "odd-or-even": (odd_or_even, {"rows": {"each": "#area .row", "fields": {"number": ".display-number"}}}),
    "sign-agreement": (agreement, {}),
    "email-inbox-delete": (mail("trash"), {"mails": {"each": "#main .email-thread", "fields": {"sender": ".email-sender"}}}),
    "email-inbox-star-reply": (mail("star"), {"mails": {"each": "#main .email-thread", "fields": {"sender": ".email-sender"}}}),
    "social-media": (post, {"posts": {"each": "#area .media", "fields": {"user": ".username"}}}),
}

# ---- the suite ---------------------------------------------------------------------------------


def scenario(task, port, **rest):
    start = {"name": task, "start": f"{SITE.format(port=port)}/miniwob/{task}.html"}
    begin = [{"click": {"text": "START"}}]
    return {**start, "steps": begin + rest.pop("steps", []), **rest}


def save(folder, task, data):
    path = pathlib.Path(folder, "scenarios", f"{task}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML as far as the scenario language goes.
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1))


def probe(folder, port):
    for task, (_, more) in TASKS.items():
        steps = read_panels(PANELS.get(task, 0))
        save(folder, task, scenario(task, port, steps=steps, extract={"goal": "#query", "area": "#area", **more}))


def write(folder, run, port):
    for task, (rule, _) in TASKS.items():
        read = pathlib.Path(run, task, "data.json")
        try:
            seen = json.loads(read.read_text())
            seen["pairs"] = [(row["label"], row["value"]) for row in seen.get("cells", [])]
            steps = rule(seen)
        except (OSError, KeyError, AttributeError, StopIteration, IndexError, TypeError) as error:
            print(f"{task}: no steps ({type(error).__name__}: {error})", file=sys.stderr)
            continue
        goal = " ".join(seen["goal"].split())
        save(folder, task, scenario(task, port, steps=steps, goal=goal, expect=[{"see": "Last reward: 1.00"}]))


def table(run):
    lines = pathlib.Path(run, "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines if line]
    ended = {e["scenario"]: e for e in events if e["event"] == "scenario_finished"}
    goals = {e["scenario"]: e.get("goal") for e in events if e["event"] == "scenario_started"}
    won = 0
    for task in TASKS:
        end = ended.get(task)
        status = end["status"] if end else "no steps"
        won += status == "passed"
        why = "" if status == "passed" else f"  {end['message'][:90]}" if end else ""
        seconds = f"{end['ms'] / 1000:6.1f}" if end else " " * 6
        print(f"{task:30} {status:14}{seconds} s  {(goals.get(task) or '')[:70]}{why}")
    print(f"{won} of {len(TASKS)} tasks won at seed {SEED}")
    return won


class Pages(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        path = pathlib.Path(self.translate_path(self.path))
        if path.suffix != ".html" or not path.is_file():
            return super().do_GET()
        body = re.sub(r'(<script src="[^"]*core\.js"></script>)', lambda m: m.group(1) + PATCH, path.read_text())
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve(pages):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=pages))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    mode, *words = sys.argv[1:]
    result = {"probe": probe, "write": write, "table": table, "serve": serve}[mode](*words)
    if mode == "table":
        sys.exit(0 if result >= 40 else 1)
