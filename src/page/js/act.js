// Before an action: is the element there, still, enabled, in view and on top? Every answer names what
// stood in the way, because that is what a failed step has to say.

// The element of a read, or a reason why it can't be used.
function held(generation, index) {
  if (generation !== store.generation) return { reason: 'stale' };
  const element = store.elements[index];
  if (!element) return { reason: 'stale' };
  if (!connected(element) || !windowOf(element)) return { reason: 'detached' };
  return { element };
}
// The element itself: BiDi turns it into a shared reference.
function element(generation, index) {
  return held(generation, index).element || null;
}
// All of them, for tests that compare with the browser's own answers.
function elements(generation) {
  return generation === store.generation ? store.elements : [];
}
// The window of its document: BiDi turns it into a context id (same-origin frames have their own).
function windowAt(generation, index) {
  const found = held(generation, index).element;
  return found ? windowOf(found) : null;
}
// Parts of the closest flat ancestor chain.
function inside(outer, node) {
  for (let up = node; up; up = flatParent(up)) if (up === outer) return true;
  return false;
}

// A frame of animation; a page in the background draws none, so a timer stands by.
function frame(view) {
  return new Promise((resolve) => {
    let done = false;
    const finish = () => {
      if (!done) resolve((done = true));
    };
    view.requestAnimationFrame(finish);
    setTimeout(finish, 250);
  });
}

function disabledNow(element) {
  forgetRoles();
  forgetNames();
  forgetStyles();
  let outer = null;
  for (let up = flatParent(element); up && !outer; up = flatParent(up)) if (truthy(up, 'aria-disabled')) outer = up;
  return disabledBy(element, roleOf(element), tagOf(element), outer);
}

// Waits until two frames in a row move the box nowhere (one may fall between two steps of a script that
// moves it); gives up after `most` frames.
async function settle(element, most) {
  const view = windowOf(element) || window;
  let before = rectOf(element);
  let still = 0;
  for (let i = 0; i < most; i++) {
    await frame(view);
    if (!connected(element)) return 'detached';
    const now = rectOf(element);
    const same = now.x === before.x && now.y === before.y && now.width === before.width && now.height === before.height;
    still = same ? still + 1 : 0;
    if (still === 2) return null;
    before = now;
  }
  return 'moving';
}

const placeOf = (element) => {
  const rect = rectOf(element);
  return [rect.x, rect.y, rect.width, rect.height].map(Math.round);
};
// Where the read's elements were when the page was last made to stand still for a picture; the read that
// follows comes after it. Large pages: the first of them only.
let earlier = { at: 0, places: new Map() };
function notePlaces(still) {
  const known = still ? store.elements.slice(0, 1000).filter(connected) : [];
  earlier = { at: performance.now(), places: new Map(known.map((element) => [element, placeOf(element)])) };
}

// It was seen in the same place longer ago than two frames: it stands still.
function stood(element, index) {
  if (documentOf(element) !== document) return false;
  const now = performance.now();
  const read = store.rects.slice(index * 4, index * 4 + 4);
  const before = now - store.at >= 40 ? read : now - earlier.at >= 40 ? earlier.places.get(element) : null;
  return !!before && placeOf(element).every((value, i) => value === read[i] && value === before[i]);
}

// purpose: "click", "hover", "fill", "type", "set", "drag", "upload". Answers {ok, x, y, via} in CSS pixels of this
// context's viewport, or {ok: false, reason, by}.
async function prepare(generation, index, purpose) {
  const found = held(generation, index);
  if (found.reason) return JSON.stringify({ ok: false, reason: found.reason });
  const answer = await prepared(found.element, index, purpose);
  if (answer.ok && purpose === 'type') answer.entered = { focused: enter(generation, index), blank: isBlank(found.element) };
  expectClick(answer.ok && purpose === 'click' && answer.via === 'element' ? found.element : null);
  return pack({ ...answer, checked: checkedState(generation, index) });
}

async function prepared(element, index, purpose) {
  const no = (reason, by) => ({ ok: false, reason, by: by || null });
  const by = disabledNow(element);
  if (by !== null && purpose !== 'hover') return no('disabled', by);
  const tag = tagOf(element);
  if (purpose === 'upload') return { ok: true, x: 0, y: 0, via: 'element' };
  if ((purpose === 'fill' || purpose === 'type' || purpose === 'set') && isReadOnly(element, tag)) return no('read_only');
  // Of an area its image is drawn.
  const area = tag === 'area' ? areaBox(element) : null;
  const styleHidden = !CHECK_VISIBILITY.call(area ? area.image : element, { visibilityProperty: true });
  const surrogates = styleHidden ? [] : clickLabels(element, tag);
  if (styleHidden) return no('hidden');
  if (fading(element)) return no('hidden');
  const moving = stood(element, index) ? null : await settle(element, 30);
  if (moving) return no(moving);
  let last = await aim(element, element, 'element');
  // A value that is set needs no pointer (two ranges over one another let it through).
  if (purpose === 'set' && last.reason === 'passes_through') return { ok: true, x: 0, y: 0, via: 'element' };
  if (last.ok) return last;
  for (const label of surrogates) {
    const tried = await aim(label, element, 'label');
    if (tried.ok) return tried;
  }
  return last;
}

// On its way out: it, or what holds it, fades to nothing.
function fading(element) {
  return Document.prototype.getAnimations.call(documentOf(element)).some((animation) => {
    const effect = animation.effect;
    if (animation.playState !== 'running' || !effect?.target || !inside(effect.target, element)) return false;
    if (effect.pseudoElement || effect.getTiming().iterations !== 1 || animation.playbackRate < 0) return false;
    const last = effect.getKeyframes().at(-1);
    return last?.opacity !== undefined && Number(last.opacity) === 0;
  });
}

// Labels that may stand in for a checkbox, radio or file field too small or too covered to be clicked.
function clickLabels(element, tag) {
  if (tag !== 'input') return [];
  const type = inputType(element);
  return type === 'checkbox' || type === 'radio' || type === 'file' ? labelsOf(element) : [];
}

// Where it stands, then in the middle of its scroller, then at its edges: a sticky bar leaves one free.
async function aim(element, target, via) {
  const no = (reason, by) => ({ ok: false, reason, by: by || null, via });
  const view = windowOf(element) || window;
  if (sizeless(element)) return no('zero_size');
  let cover = null;
  for (const block of [null, 'center', 'start', 'end', 'nearest']) {
    if (block) {
      const drawn = tagOf(element) === 'area' ? areaBox(element)?.image || element : element;
      Element.prototype.scrollIntoView.call(drawn, { block, inline: 'center', behavior: 'instant' });
      const frameElement = frameElementOf(documentOf(element));
      if (frameElement) Element.prototype.scrollIntoView.call(frameElement, { block: 'nearest', behavior: 'instant' });
      const moving = await settle(element, 30);
      if (moving) return no(moving);
    }
    const points = pointsOf(element);
    if (!points.length) continue;
    if (view.getComputedStyle(element).pointerEvents === 'none') return no('passes_through');
    let within = null;
    const others = new Set();
    for (const [x, y] of points) {
      const hit = topmostAt(element, x, y);
      if (hit.miss) continue;
      if (belongs(hit.element, target, via === 'label' ? element : null)) {
        const other = via === 'element' && controlBetween(hit.element, target);
        if (!other) return { ok: true, x: hit.x, y: hit.y, via };
        others.add(other);
        within = within || { ok: true, x: hit.x, y: hit.y, via };
        cover = cover || other;
      } else if (hit.element) {
        others.add(null);
        cover = cover || hit.element;
      }
    }
    if (within && standFor(others, target)) return within;
  }
  return cover ? no('covered', coverName(cover)) : no('off_screen');
}

// The click that is about to come: a control that is made anew between press and release gets none.
let expected = null;
const listening = new WeakSet();
function expectClick(element) {
  expected = element && { element, came: false };
  const view = element && windowOf(element);
  if (!view || listening.has(view)) return;
  listening.add(view);
  EventTarget.prototype.addEventListener.call(view, 'click', (event) => {
    if (expected && event.isTrusted && event.composedPath().includes(expected.element)) expected.came = true;
  }, true);
}
const clickLost = () => !!expected && !expected.came && !connected(expected.element);

const boxesOf = (element) => (tagOf(element) === 'area' ? [areaBox(element)?.box].filter(Boolean) : element.getClientRects());

function sizeless(element) {
  for (const rect of boxesOf(element)) if (rect.width >= 1 && rect.height >= 1) return false;
  return true;
}

// Candidate points: the middle of each visible line box, then quarter points.
function pointsOf(element) {
  const view = windowOf(element) || window;
  const width = view.innerWidth;
  const height = view.innerHeight;
  const points = [];
  for (const rect of boxesOf(element)) {
    const left = Math.max(rect.left, 0);
    const right = Math.min(rect.right, width);
    const top = Math.max(rect.top, 0);
    const bottom = Math.min(rect.bottom, height);
    if (right - left < 1 || bottom - top < 1) continue;
    for (const [fx, fy] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8], [0.1, 0.1], [0.9, 0.9]])
      points.push([left + (right - left) * fx, top + (bottom - top) * fy]);
    if (points.length >= 28) break;
  }
  if (!points.length || !FIRST_ELEMENT.call(element)) return points;
  const seen = ([x, y]) => x >= 0 && y >= 0 && x < width && y < height;
  return points.concat(wordPoints(element).filter(seen));
}

// A control of its own between the hit and the target that holds it: pressing that is another act (a "Delete"
// inside a card that opens, the children of a tree item).
function controlBetween(hit, target) {
  for (let up = hit; up && up !== target; up = flatParent(up)) {
    if (kind(up) !== ELEMENT) continue;
    const tabindex = attribute(up, 'tabindex');
    if (CONTROLS.has(roleOf(up)) || (isFocusable(up) && !(tabindex !== null && Number(tabindex) < 0))) return up;
  }
  return null;
}
// Controls that stand for what they lie in: parts of one widget; one of the same name; a link that fills a card,
// which can't be pressed itself.
const WIDGETS = new Set(['application', 'combobox', 'grid', 'listbox', 'radiogroup', 'searchbox', 'slider', 'spinbutton', 'textbox', 'treegrid']);
function standFor(controls, target) {
  if (controls.has(null)) return false;
  const role = roleOf(target);
  if (WIDGETS.has(role)) return true;
  if (controls.size !== 1) return false;
  const [only] = controls;
  return (!CONTROLS.has(role) && !isFocusable(target)) || nameOf(only).text === nameOf(target).text;
}
// Its own words, not those of a control inside it.
function wordPoints(element) {
  const points = [];
  const walk = (node, depth) => {
    for (const child of flatChildren(node)) {
      if (points.length >= 6 || depth > 12) return;
      if (kind(child) === TEXT && TEXT_DATA.call(child).trim()) {
        const range = Document.prototype.createRange.call(documentOf(child));
        range.selectNodeContents(child);
        for (const rect of [...range.getClientRects()].slice(0, 2)) points.push([rect.left + rect.width / 2, rect.top + rect.height / 2]);
      } else if (kind(child) === ELEMENT && !controlBetween(child, element)) walk(child, depth + 1);
    }
  };
  walk(element, 0);
  return points;
}

// What lies on top at a point of the element's own viewport, through shadow roots, and whether every
// frame around it lets the point through. x and y come back in this context's viewport.
function topmostAt(element, x, y) {
  let document_ = documentOf(element);
  let hit = deepAt(document_, x, y);
  for (let i = 0; i < 16; i++) {
    const frameElement = frameElementOf(document_);
    if (!frameElement || document_ === document) break;
    const rect = rectOf(frameElement);
    x += rect.x + frameElement.clientLeft;
    y += rect.y + frameElement.clientTop;
    document_ = documentOf(frameElement);
    const over = deepAt(document_, x, y);
    if (over !== frameElement) return { element: over, x, y, miss: !over };
  }
  return { element: hit, x, y, miss: !hit };
}
function deepAt(document_, x, y) {
  let hit = Document.prototype.elementFromPoint.call(document_, x, y);
  for (let i = 0; hit && i < 32; i++) {
    const shadow = shadowOf(hit);
    const inner = shadow && ShadowRoot.prototype.elementFromPoint.call(shadow, x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  // Firefox answers the image where Chromium answers its area, which takes the click in both (measured).
  return (hit && tagOf(hit) === 'img' && areaAt(hit, x, y)) || hit;
}

// A point of a frame's own viewport, for a frame this realm can't look into: brings it into view and
// says what lies over it here. Answers like `prepare`.
async function throughFrame(generation, index, x, y) {
  const found = held(generation, index);
  if (found.reason) return JSON.stringify({ ok: false, reason: found.reason });
  const frameElement = found.element;
  const view = windowOf(frameElement) || window;
  let cover = null;
  for (const block of [null, 'nearest', 'center', 'start', 'end']) {
    if (block) {
      Element.prototype.scrollIntoView.call(frameElement, { block, inline: 'nearest', behavior: 'instant' });
      const top = rectOf(frameElement).y + y;
      // A frame higher than the window: its point is what has to be seen.
      if (top < 0 || top >= view.innerHeight) view.scrollBy({ top: top - view.innerHeight / 2, behavior: 'instant' });
      await settle(frameElement, 30);
    }
    const style = view.getComputedStyle(frameElement);
    const rect = rectOf(frameElement);
    const hit = topmostAt(
      frameElement,
      rect.x + frameElement.clientLeft + parseFloat(style.paddingLeft) + x,
      rect.y + frameElement.clientTop + parseFloat(style.paddingTop) + y
    );
    if (!hit.miss && hit.element === frameElement) return pack({ ok: true, x: hit.x, y: hit.y, via: 'frame' });
    if (!hit.miss && hit.element && !cover) cover = hit.element;
  }
  return pack(cover ? { ok: false, reason: 'covered', by: coverName(cover) } : { ok: false, reason: 'off_screen' });
}

// The hit counts as the target when it is it, lies in it, or is the part of its label that passes the
// click on (nothing else in the label that would take the click for itself).
function belongs(hit, target, label) {
  if (!hit) return false;
  if (inside(target, hit)) return true;
  for (let up = hit; up; up = flatParent(up)) {
    if (kind(up) !== ELEMENT) return false;
    if (tagOf(up) === 'label') return LABEL_CONTROL.call(up) === target && (!label || label === up || inside(label, up));
    if (isFocusable(up)) return false;
  }
  return false;
}

// The covering thing in words: the dialog it is part of, else the nearest ancestor that has a name worth
// saying.
function coverName(element) {
  let named = null;
  for (let up = element; up; up = flatParent(up)) {
    if (kind(up) !== ELEMENT) continue;
    const role = roleOf(up);
    if (role === 'dialog' || role === 'alertdialog') return describe(up);
    if (!named && role && role !== 'generic' && nameOf(up).text) named = up;
  }
  return describe(named || element);
}

// Scroll boxes of the page, largest first and the page itself last (what it holds is mostly there), each with
// the way it scrolls: the element itself and how much is left in it.
const WAYS = {
  down: { at: 'scrollTop', view: 'clientHeight', all: 'scrollHeight', style: 'overflowY', to: 'top' },
  across: { at: 'scrollLeft', view: 'clientWidth', all: 'scrollWidth', style: 'overflowX', to: 'left' },
};
let scrollBoxes = [];
function scrollers() {
  const found = [];
  const root = getter(Document.prototype, 'scrollingElement').call(document);
  for (const element of everyElement(document)) {
    for (const way of [WAYS.down, WAYS.across]) {
      if (element[way.all] <= element[way.view] + 4) continue;
      if (element !== root) {
        const overflow = (windowOf(element) || window).getComputedStyle(element)[way.style];
        if (overflow !== 'auto' && overflow !== 'scroll') continue;
      } else if (way === WAYS.across) continue;
      found.push({ element, way });
    }
  }
  const last = ({ element }) => Number(element === root);
  const size = ({ element }) => element.clientHeight * element.clientWidth;
  found.sort((a, b) => last(a) - last(b) || size(b) - size(a));
  scrollBoxes = found;
  return pack(found.map(({ element, way }) => ({ top: element[way.at], height: element[way.all], view: element[way.view], what: describe(element) })));
}
// Scrolls box `at` by a share of its view; says whether it moved.
function scrollBy(at, share) {
  const box = scrollBoxes[at];
  if (!box || !connected(box.element)) return false;
  return scrolled(box, box.element[box.way.at] + towards(box) * box.element[box.way.view] * share);
}
function scrollTo(at, top) {
  const box = scrollBoxes[at];
  return !!box && scrolled(box, top === 'bottom' ? towards(box) * box.element[box.way.all] : top);
}
// Where text runs from right to left, what comes next lies to the left.
function towards({ element, way }) {
  const style = way === WAYS.across && (windowOf(element) || window).getComputedStyle(element);
  return style && style.direction === 'rtl' ? -1 : 1;
}
function scrolled({ element, way }, to) {
  const before = element[way.at];
  Element.prototype.scrollTo.call(element, { [way.to]: to, behavior: 'instant' });
  return element[way.at] !== before;
}
function scrollIntoView(generation, index) {
  const found = held(generation, index).element;
  if (!found) return false;
  Element.prototype.scrollIntoView.call(found, { block: 'center', inline: 'center', behavior: 'instant' });
  return true;
}

// Quiet: how long ago the document last changed, watched from the moment the reader is there; shadow roots
// and same-origin frames from the first read that found them.
let lastChange = performance.now();
const watched = new WeakSet();
const changes = new MutationObserver(() => {
  lastChange = performance.now();
});
function watch(root) {
  if (watched.has(root)) return;
  watched.add(root);
  changes.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
}
const quietSince = () => Math.round(performance.now() - lastChange);
watch(document);
// After an action: two frames, in which its handlers have done what they do at once, and `more` ms, which
// what they sent off takes to leave the browser; then how long ago the document last changed.
async function settled(more) {
  await frame(window);
  await frame(window);
  await new Promise((resolve) => setTimeout(resolve, more));
  return quietSince();
}

// Resolves after two frames: what a scroll makes a list draw has been drawn by then.
function twoFrames() {
  return frame(window).then(() => frame(window)).then(() => true);
}
