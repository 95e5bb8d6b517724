// Pictures: where secrets show, and covering them on the elements themselves.

// Every element of the page, open and known closed roots and same-origin frames included.
function everyElement(root, out = [], depth = 0) {
  for (const element of all(root, '*')) {
    out.push(element);
    const shadow = shadowOf(element);
    if (shadow) everyElement(shadow, out, depth);
    const inner = depth < LIMITS.frames ? frameDocument(element) : null;
    if (inner) everyElement(inner, out, depth + 1);
  }
  return out;
}
function secretElements() {
  const out = [];
  for (const element of everyElement(document)) if (isSecretField(element)) out.push(element);
  return out;
}

// Offset of a document's viewport in this context's viewport.
function offsetOf(document_) {
  let x = 0;
  let y = 0;
  for (let i = 0; i < 16 && document_ !== document; i++) {
    const frameElement = frameElementOf(document_);
    if (!frameElement) break;
    const rect = rectOf(frameElement);
    x += rect.x + frameElement.clientLeft;
    y += rect.y + frameElement.clientTop;
    document_ = documentOf(frameElement);
  }
  return [x, y];
}
function boxes(list, document_, kindOf, out) {
  const [x, y] = offsetOf(document_);
  for (const rect of list) {
    if (rect.width <= 0 || rect.height <= 0) continue;
    // Rounded outwards: half a pixel of a letter is a leak.
    const left = Math.floor(rect.left + x);
    const top = Math.floor(rect.top + y);
    out.push([kindOf, left, top, Math.ceil(rect.right + x) - left, Math.ceil(rect.bottom + y) - top]);
  }
}

// Boxes of secret fields, and of the given ranges of the latest read's text (UTF-16 offsets, flat
// pairs). The matching that chose the ranges was done outside: no secret ever enters a page.
// `indices`: elements of that read to cover whole.
function rectangles(generation, ranges, indices) {
  return JSON.stringify(measured(generation, ranges, indices));
}
function measured(generation, ranges, indices) {
  const out = [];
  for (const element of secretElements()) boxes([rectOf(element)], documentOf(element), 'field', out);
  if (generation === store.generation) {
    for (let i = 0; i + 1 < ranges.length; i += 2) textBoxes(ranges[i], ranges[i + 1], out);
    // One for each, also where nothing is painted: the caller tells them apart by their order.
    for (const index of indices) {
      const element = listed([index])[0];
      const before = out.length;
      if (element) boxes([rectOf(element)], documentOf(element), 'element', out);
      if (out.length === before) out.push(['element', 0, 0, 0, 0]);
    }
  } else if (ranges.length || indices.length) return { stale: true };
  return { boxes: out };
}
function listed(indices) {
  return indices.map((index) => store.elements[index]).filter((element) => element && connected(element));
}
// Where what a frame element shows begins, in this context's viewport.
function contentOffset(generation, index) {
  const frame = generation === store.generation && listed([index])[0];
  if (!frame) return JSON.stringify(null);
  const [x, y] = offsetOf(documentOf(frame));
  const rect = rectOf(frame);
  const style = (windowOf(frame) || window).getComputedStyle(frame);
  return JSON.stringify([x + rect.x + frame.clientLeft + parseFloat(style.paddingLeft), y + rect.y + frame.clientTop + parseFloat(style.paddingTop)]);
}

// store.runs is flat: offset, text node, offset, text node, … in order.
function textBoxes(start, end, out) {
  const runs = store.runs;
  let low = 0;
  let high = runs.length / 2 - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (runs[mid * 2] <= start) low = mid;
    else high = mid - 1;
  }
  for (let i = low; i < runs.length / 2 && runs[i * 2] < end; i++) {
    const node = runs[i * 2 + 1];
    if (!connected(node)) continue;
    const [from, to] = sourceSpan(node, start - runs[i * 2], end - runs[i * 2]);
    if (from >= to) continue;
    const range = Document.prototype.createRange.call(documentOf(node));
    range.setStart(node, from);
    range.setEnd(node, to);
    boxes(range.getClientRects(), documentOf(node), 'text', out);
  }
}
// Offsets of collapsed text back in the node's own data. A transform that changes lengths (ß → SS)
// covers the whole node.
function sourceSpan(node, start, end) {
  const data = TEXT_DATA.call(node);
  const up = parentOf(node);
  if (up && kind(up) === ELEMENT) {
    const how = (windowOf(up) || window).getComputedStyle(up).textTransform;
    if (how !== 'none' && transformed(data, how).length !== data.length) return [0, data.length];
  }
  let seen = 0;
  let from = -1;
  let to = data.length;
  let blank = true;
  for (let i = 0; i < data.length; i++) {
    const isBlank = /[\s\u00a0]/.test(data[i]);
    if (isBlank && blank) continue;
    if (seen >= start && from < 0) from = i;
    seen++;
    blank = isBlank;
    if (seen >= end) {
      to = i + 1;
      break;
    }
  }
  return from < 0 ? [0, 0] : [from, to];
}

// Layer 1 of masking: a paused animation paints the field over. It adds no node and no attribute, holds
// under a strict style policy, and follows the element wherever it is drawn.
const covers = new Map();
function cover(on, generation, indices) {
  if (!on) {
    for (const animation of [...covers.values()].flat()) animation.cancel();
    covers.clear();
    return 0;
  }
  const chosen = generation === store.generation ? listed(indices) : [];
  for (const element of secretElements().concat(chosen)) {
    if (covers.has(element)) continue;
    const paint = {
      backgroundColor: '#000', backgroundImage: 'none', color: '#000', caretColor: 'transparent', textShadow: 'none',
      webkitTextFillColor: '#000', filter: 'brightness(0)',
    };
    const painted = [undefined, '::before', '::after'].filter((which) => !which || pseudoText(element, which, true)).map((pseudoElement) => {
      const animation = Element.prototype.animate.call(element, [paint, paint], { duration: 1e9, fill: 'both', pseudoElement });
      animation.pause();
      return animation;
    });
    covers.set(element, painted);
  }
  return covers.size;
}

// Before a picture: still, covered, measured. After it: measured again, then let go; `still` says for how
// long nothing changed meanwhile.
let posed = Infinity;
function pose(generation, ranges, indices) {
  posed = performance.now();
  freeze(true);
  notePlaces(!frozen.some(([, running]) => running));
  cover(true, generation, indices);
  return rectangles(generation, ranges, indices);
}
function release(generation, ranges, indices) {
  try {
    const still = quietSince() >= performance.now() - posed ? performance.now() - posed : 0;
    return JSON.stringify({ ...measured(generation, ranges, indices), still: Math.max(0, Math.floor(still)) });
  } finally {
    posed = Infinity;
    cover(false);
    freeze(false);
  }
}

const NO_CARET = new Set(['a', 'area', 'button', 'iframe', 'frame', 'select', 'summary']);
function hasCaret(element) {
  const tag = tagOf(element);
  return tag === 'input' ? !UNVALUED_TYPES.has(inputType(element)) : !NO_CARET.has(tag);
}

// Stands still for a picture: animations go to a fixed moment, the caret is hidden, both without a
// mutation. `freeze(false)` lets them go on.
let frozen = null;
function freeze(on) {
  if (!on) {
    for (const [animation, running, at] of frozen || []) {
      try {
        // From where it was: what fades out is not gone sooner for its picture.
        if (running) animation.currentTime = at;
        if (running) animation.play();
        else animation.cancel();
      } catch {}
    }
    frozen = null;
    return 0;
  }
  if (frozen) return frozen.length;
  frozen = [];
  const mine = new Set([...covers.values()].flat());
  for (const animation of Document.prototype.getAnimations.call(document)) {
    if (mine.has(animation) || animation.playState !== 'running') continue;
    try {
      const timing = animation.effect && animation.effect.getComputedTiming();
      const at = animation.currentTime;
      animation.pause();
      // Ends of finite ones, starts of endless ones: the same moment in every picture.
      animation.currentTime = timing && Number.isFinite(timing.endTime) ? Math.max(0, timing.endTime - 1) : 0;
      frozen.push([animation, true, at]);
    } catch {}
  }
  const active = deepActive(document);
  if (active && hasCaret(active)) {
    const caret = Element.prototype.animate.call(active, [{ caretColor: 'transparent' }, { caretColor: 'transparent' }], { duration: 1e9, fill: 'both' });
    caret.pause();
    frozen.push([caret, false]);
  }
  return frozen.length;
}
