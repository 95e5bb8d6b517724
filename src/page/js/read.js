// One read of a document: a single pass over the flattened tree that collects the rendered text and
// the elements worth naming, in columns.

const LISTED = new Set(
  `alert alertdialog application article banner button caption cell checkbox columnheader combobox complementary contentinfo
   dialog feed figure form grid gridcell heading iframe image link list listbox listitem log main marquee menu menubar menuitem
   menuitemcheckbox menuitemradio meter navigation option progressbar radio radiogroup region row rowheader scrollbar search
   searchbox slider spinbutton status switch tab table tablist tabpanel textbox timer toolbar tree treegrid treeitem tooltip`.split(/\s+/)
);
const CONTROLS = new Set(
  `button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox slider
   spinbutton switch tab textbox treeitem`.split(/\s+/)
);
// WAI-ARIA 1.2 "Children Presentational: True": what lies inside is no candidate of its own unless it
// can take focus.
const LEAF_ROLES = new Set(
  `button checkbox image math menuitemcheckbox menuitemradio option progressbar radio scrollbar separator slider switch
   tab`.split(/\s+/)
);
const TEST_IDS = ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'];
const LIVE_ROLES = new Set(['alert', 'status', 'log', 'marquee', 'timer']);
const NO_TEXT = new Set(['script', 'style', 'template', 'noscript', 'head', 'meta', 'link', 'title', 'datalist', 'select',
  'textarea', 'input', 'canvas', 'audio', 'video', 'object', 'embed', 'param', 'source', 'track', 'iframe', 'frame', 'img']);

const FLAG = {
  interactive: 1, reachable: 2, disabled: 4, readOnly: 8, required: 16, invalid: 32, busy: 64, modal: 128, multiselectable: 256,
  popup: 512, multiline: 1024, live: 2048, expandedKnown: 4096, expanded: 8192, selectedKnown: 16384, selected: 32768,
  namedByText: 1048576,
};

const LINK_HREF = getter(HTMLAnchorElement.prototype, 'href');
const AREA_HREF = getter(HTMLAreaElement.prototype, 'href');

const LIMITS = { nodes: 200000, text: 2000000, name: 1000, value: 20000, frames: 5, depth: 3000, bytes: 24000000 };

// Elements of the latest read, by index. An older generation is refused, never guessed at.
const store = { generation: -1, elements: [], runs: [], rects: [], at: 0 };

function read(request) {
  forgetStyles();
  forgetRoles();
  forgetNames();
  try {
    return readAll(request);
  } finally {
    attend(null);
  }
}
function readAll(request) {
  const state = {
    limits: { ...LIMITS, ...(request.limits || {}) },
    elements: [], runs: [], text: [], at: 0, gap: 0, deep: 0, full: false, cut: false,
    roleTable: [], roleIndex: new Map(), tagTable: [], tagIndex: new Map(),
    parent: [], role: [], name: [], start: [], end: [], rect: [], tag: [], flags: [], frame: [],
    type: [], testId: [], href: [], hints: [], value: [], options: [], disabledBy: [], level: [], column: [],
    frames: [], unread: [], owned: [], pendingFrames: [], suspects: [], customs: [], roots: [document],
    modal: null,
    sought: (request.sought || []).map(soughtElements), also: null,
  };
  if (state.sought.length) state.also = new Set(state.sought.flatMap((found) => found || []));
  collectOwners(document);
  state.modal = topModal(document);
  walkDocument(document, state, { parent: -1, hidden: false, disabled: null, frame: -1, depth: 0, dx: 0, dy: 0, leaf: false, inside: !state.modal, table: null, pre: false });
  state.styled = styledTexts(state);
  store.generation = request.generation;
  store.elements = state.elements;
  store.runs = state.runs;
  store.suspects = state.suspects;
  store.customs = state.customs;
  store.rects = state.rect;
  store.at = performance.now();
  store.frames = state.pendingFrames;
  state.roots.forEach(watch);
  return answer(state, request);
}

// What a scenario names by selector or text is listed whatever it is; null for a selector the browser refuses.
function soughtElements({ css, text }) {
  if (text !== undefined) return textTargets(text);
  try {
    return queryDeep(document, css);
  } catch {
    return null;
  }
}
function soughtPlaces(state) {
  if (!state.sought.length) return [];
  const places = new Map(state.elements.slice(0, state.parent.length).map((element, i) => [element, i]));
  const listed = (found) => found.map((element) => places.get(element)).filter((i) => i !== undefined);
  return state.sought.map((found) => found && listed(found).sort((a, b) => a - b));
}

// What style sheets write, with the index of its element, listed or not: it is no text of the page, but
// pictures show it.
function styledTexts(state) {
  const rows = [];
  let known = null;
  for (const root of state.roots) {
    for (const element of styledElements(root)) {
      const before = pseudoText(element, '::before', true);
      const after = pseudoText(element, '::after', true);
      if (before.length + after.length < 4) continue;
      known = known || new Map(state.elements.map((listed, index) => [listed, index]));
      if (!known.has(element)) known.set(element, state.elements.push(element) - 1);
      rows.push(known.get(element), fold(before + SEAM + after));
    }
  }
  return rows;
}

function answer(state, request) {
  const active = deepActive(document);
  const text = state.text.join('');
  const shape = {
    v: VERSION,
    generation: request.generation,
    url: String(location.href),
    title: fold(getter(Document.prototype, 'title').call(document)),
    ready: getter(Document.prototype, 'readyState').call(document) === 'complete',
    focus: active ? state.elements.indexOf(active) : -1,
    text: text.replaceAll(SEPARATOR, ' ').replaceAll('\n', SEPARATOR),
    roles: state.roleTable, tags: state.tagTable, frames: state.frames,
    name: joinNames(state, text), ...kinds(state),
    parent: state.parent.map((parent, i) => (parent < 0 ? 0 : i - parent)),
    start: steps(state.start, 1), length: state.end.map((end, i) => end - state.start[i]), rect: rectSteps(state.rect),
    frame: state.frames.length ? state.frame : [],
    type: joined(state.type, 1), testId: joined(state.testId, 1), href: joined(state.href, 1), value: joined(state.value, 1),
    disabledBy: joined(state.disabledBy, 1), styled: joined(state.styled, 1), column: joined(state.column, 1), hints: joined(state.hints, 2),
    options: joined(state.options.flatMap(([index, list]) => list.map((text) => [index, text])).flat(), 1),
    level: steps(state.level, 2),
    unread: state.unread,
    owned: state.owned,
    suspects: state.suspects.length, customs: state.customs.length,
    sought: soughtPlaces(state),
  };
  if (state.full) shape.unread.push(['text_cut', `after ${state.at} characters`]);
  if (state.cut) shape.unread.push(['nodes_cut', `after ${state.elements.length} elements`]);
  return pack(shape);
}

// An answer passes four programs that each write it as JSON into the next one's JSON, so that a quote or
// a line break grows to a dozen characters on its way. Strings are therefore joined by a sign that needs
// no escape, and numbers that grow are written as steps.
const SEPARATOR = '\x7f';
// Differences of every `stride`-th number, beginning with the first.
function steps(list, stride) {
  const out = list.slice();
  let last = 0;
  for (let i = 0; i < list.length; i += stride) {
    out[i] = list[i] - last;
    last = list[i];
  }
  return out;
}
// Few kinds of elements make a page: role, tag and flags once for each kind, and one number for each element.
function kinds(state) {
  const known = new Map();
  const table = [];
  const column = state.flags.map((flags, i) => {
    const key = (flags * 1024 + state.role[i]) * 4096 + state.tag[i];
    let at = known.get(key);
    if (at === undefined) {
      at = known.size;
      known.set(key, at);
      table.push(state.role[i], state.tag[i], flags);
    }
    return at;
  });
  return { kinds: table, kind: column };
}
// x and y of a rectangle as steps from the one before; width and height as they are.
function rectSteps(rect) {
  const out = rect.slice();
  for (let i = rect.length - 4; i >= 4; i -= 4) {
    out[i] -= rect[i - 4];
    out[i + 1] -= rect[i - 3];
  }
  return out;
}
// Rows of an index, perhaps a kind, and a text: the numbers apart, the texts joined.
function joined(rows, numbers) {
  const at = [];
  const texts = [];
  let last = 0;
  for (let i = 0; i < rows.length; i += numbers + 1) {
    at.push(rows[i] - last);
    last = rows[i];
    if (numbers === 2) at.push(rows[i + 1]);
    const text = rows[i + numbers];
    texts.push(text.includes(SEPARATOR) ? text.replaceAll(SEPARATOR, '') : text);
  }
  return [at, texts.join(SEPARATOR)];
}
// Names as one string. Where the rendered text of the element is its name, a flag says so instead.
function joinNames(state, text) {
  const list = state.name;
  for (let i = 0; i < list.length; i++) {
    const name = list[i];
    if (!name) continue;
    const at = state.start[i] + (text[state.start[i]] === SEAM ? 1 : 0);
    if (name === text.slice(at, state.end[i])) {
      list[i] = '';
      state.flags[i] |= FLAG.namedByText;
    } else if (name.includes(SEPARATOR)) list[i] = name.replaceAll(SEPARATOR, '');
  }
  return list.join(SEPARATOR);
}

// JSON without lone surrogates: one of them makes a whole BiDi answer vanish.
function pack(shape) {
  const text = JSON.stringify(shape);
  if (!text.includes('\\ud') || !/\\ud[89a-f]/.test(text)) return text;
  return JSON.stringify(shape, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value));
}

const focusOf = (root) => getter(kind(root) === 9 ? Document.prototype : ShadowRoot.prototype, 'activeElement').call(root);
function deepActive(document) {
  let active = focusOf(document);
  for (let i = 0; active && i < 32; i++) {
    const shadow = shadowOf(active);
    const inner = shadow ? focusOf(shadow) : frameDocument(active) && focusOf(frameDocument(active));
    if (!inner || (!shadow && tagOf(inner) === 'body' && !isEditedPage(inner))) break;
    active = inner;
  }
  return active && (tagOf(active) !== 'body' || isEditedPage(active)) ? active : null;
}

// The dialog that bounds what can be reached: a native modal one (everything else is inert then), or
// the last visible aria-modal one.
function topModal(document) {
  const native = all(document, 'dialog:modal');
  if (native.length) {
    const active = focusOf(document);
    for (const dialog of native) if (active && contains(dialog, active) && !all(dialog, 'dialog:modal').length) return dialog;
    return native[native.length - 1];
  }
  let found = null;
  for (const element of all(document, '[aria-modal="true" i]')) {
    const role = roleOf(element);
    if ((role === 'dialog' || role === 'alertdialog') && !isHidden(element) && hasBox(element)) found = element;
  }
  return found;
}
function hasBox(element) {
  const rect = rectOf(element);
  if (rect.width > 0 && rect.height > 0) return true;
  for (const child of flatChildren(element)) if (kind(child) === ELEMENT && styleOf(child).shown && hasBox(child)) return true;
  return false;
}

function walkDocument(document, state, around) {
  const root = getter(Document.prototype, 'documentElement').call(document);
  if (root) visit(root, state, around);
}

// `around` holds what the surroundings say; it is copied only where something changes.
function visit(element, state, around) {
  const tag = tagOf(element);
  if (SILENT.has(tag)) return;
  if (tag === 'br') {
    state.gap = 2;
    return;
  }
  const style = styleOf(element);
  if (!style.shown) {
    if (around.hidden) return;
    if (tag === 'input' && inputType(element) === 'file') list(element, tag, style, state, around, true);
    if (tag === 'area' && has(element, 'href') && areaBox(element)) list(element, tag, style, state, around, false);
    return;
  }
  if (state.deep > state.limits.depth) {
    state.cut = true;
    return;
  }
  let here = around;
  attend(element);
  if (tag.includes('-') && !here.hidden) noteCustom(element, state);
  if (!around.hidden && (truthy(element, 'aria-hidden') || has(element, 'inert'))) here = { ...here, hidden: true };
  if (state.modal === element && !here.inside) here = { ...here, inside: true };
  if (style.block) state.gap = 2;
  else if (style.apart && state.gap < 1) state.gap = 1;

  const sought = state.also !== null && state.also.has(element);
  const index = here.hidden && !sought || !style.drawn ? -1 : list(element, tag, style, state, here, false);
  if (!style.locked) {
    if (index >= 0 && holdsMore(element, tag)) here = within(element, index, state, here);
    if (!here.disabled && truthy(element, 'aria-disabled')) here = { ...here, disabled: element };
    if (FRAMES.has(tag)) enterFrame(element, tag, index, state, here);
    else if (!collapsed(element, style)) children(element, tag, state, here);
  }
  if (index >= 0) leave(element, index, state, here);
  if (style.block) state.gap = style.display === 'table-cell' ? Math.max(state.gap, 1) : 2;
  else if (style.apart && state.gap < 1) state.gap = 1;
}

const FRAMES = new Set(['iframe', 'frame', 'object']);
const holdsMore = (element, tag) =>
  FIRST_ELEMENT.call(element) || shadowOf(element) || FRAMES.has(tag) || owners && has(element, 'aria-owns');

// A box of no size that cuts its content off (an accordion's closed panel): nothing inside is seen.
function collapsed(element, style) {
  if (!style.block || !first(element)) return false;
  // Asked first: a style is at hand, a size has to be asked of the layout.
  const computed = (windowOf(element) || window).getComputedStyle(element);
  if (computed.overflowX === 'visible' || computed.overflowY === 'visible') return false;
  if (element.clientHeight !== 0 && element.clientWidth !== 0) return false;
  if (style.display.startsWith('table')) return false;
  const rect = rectOf(element);
  if (rect.width > 0 && rect.height > 0) return false;
  return true;
}

function children(element, tag, state, here) {
  if (tag === 'pre' || tag === 'textarea') here = { ...here, pre: true };
  if (NO_TEXT.has(tag)) {
    if (tag === 'select') selectChildren(element, state, here);
    return;
  }
  const closed = tag === 'details' && !has(element, 'open');
  const shadow = shadowOf(element);
  if (shadow) state.roots.push(shadow);
  else if (maybeHost(element, tag)) state.suspects.push(element);
  const style = styleOf(element);
  if (!here.unread && (style.faint || style.placed && offCanvas(element))) here = { ...here, unread: true };
  const owns = owners && has(element, 'aria-owns');
  state.deep++;
  if (shadow || tag === 'slot') for (const child of flatChildren(element)) step(child, element, style, closed, state, here);
  else for (let child = first(element); child; child = next(child)) step(child, element, style, closed, state, here);
  if (owns) {
    for (const id of words(attribute(element, 'aria-owns'))) {
      const owned = byId(rootOf(element), id);
      if (owned && owner(owned) === element) visit(owned, state, here);
    }
  }
  state.deep--;
}
function step(child, element, style, closed, state, here) {
  const type = kind(child);
  if (type === TEXT) {
    if (style.drawn && !style.blank && !here.unread && !closed) pushText(child, style, state, here);
  } else if (type === ELEMENT) {
    if (closed && !(tagOf(child) === 'summary' && isSummary(child))) return;
    if (owners && owner(child) && owner(child) !== element) return;
    visit(child, state, here);
  }
}

// Put where no scrolling leads: text for machines, not for people.
function offCanvas(element) {
  const rect = rectOf(element);
  if (!rect.width || !rect.height) return false;
  const view = windowOf(element) || window;
  if (rect.right + view.scrollX > 0 && rect.bottom + view.scrollY > 0) return false;
  // A list scrolled inside its box comes back.
  for (let up = flatParent(element); up; up = flatParent(up)) if (up.scrollTop || up.scrollLeft) return false;
  return true;
}

// Options of a listbox are candidates; those of a drop-down are its value list only.
function selectChildren(element, state, here) {
  if (roleOf(element) !== 'listbox') return;
  for (const option of selectOptions(element)) {
    if (styleOf(option).shown) list(option, 'option', styleOf(option), state, { ...here, leaf: false }, false, true);
  }
}

// Hosts whose root may be closed: custom elements, and empty boxes that have a size all the same.
const askedHosts = new WeakSet();
const HOST_TAGS = new Set(['article', 'aside', 'blockquote', 'div', 'footer', 'header', 'main', 'nav', 'p', 'section', 'span']);
function maybeHost(element, tag) {
  if (askedHosts.has(element)) return false;
  if (tag.includes('-')) return true;
  if (!HOST_TAGS.has(tag) || first(element)) return false;
  return element.clientHeight > 0 && (windowOf(element) || window).getComputedStyle(element).height === 'auto';
}

function pushText(node, style, state, here) {
  const data = TEXT_DATA.call(node);
  if (!data || state.full) return;
  let core = data;
  let lead = false;
  let tail = false;
  if (UNFOLDED.test(data)) {
    core = here.pre ? data.replace(/[^\S\n]+/g, ' ') : data.replace(/\s+/g, ' ');
    lead = /^\s/.test(core);
    tail = core.length > 1 && /\s$/.test(core);
    core = core.trim();
  }
  if (!core) {
    if (state.gap < 1) state.gap = 1;
    return;
  }
  const how = style.transform;
  if (how !== 'none') core = transformed(core, how);
  if (state.at) {
    if (state.gap === 2) add(state, '\n');
    else if (state.gap === 1 || lead) add(state, ' ');
    else if (seam(state.text[state.text.length - 1], core)) add(state, SEAM);
  }
  if (state.at + core.length > state.limits.text) {
    core = core.slice(0, Math.max(0, state.limits.text - state.at));
    state.full = true;
  }
  state.runs.push(state.at, node);
  add(state, core);
  state.gap = tail ? 1 : 0;
}
function add(state, text) {
  state.text.push(text);
  state.at += text.length;
}

function indexed(table, index, word) {
  let at = index.get(word);
  if (at === undefined) {
    at = table.length;
    table.push(word);
    index.set(word, at);
  }
  return at;
}

function worthNaming(element, tag, role, here, focusable, interactive, testId) {
  if (here.leaf && !focusable && !testId && !(tag === 'input' || tag === 'select' || tag === 'textarea')) return false;
  if (!interactive && !testId && !LISTED.has(role) && !(role === 'group' && nameOf(element).text) && !has(element, 'aria-live') && tag !== 'object' && tag !== 'header' && tag !== 'footer') return false;
  if ((tag === 'html' || tag === 'body') && !testId) return false;
  return role !== 'image' || interactive || !!testId || !!nameOf(element).text;
}

// Adds the element to the columns when it is worth naming or sought; -1 otherwise.
function list(element, tag, style, state, here, hiddenFile, isOption) {
  const edited = isEditedPage(element);
  const role = edited ? 'textbox' : roleOf(element);
  const focusable = isFocusable(element);
  const testId = testIdOf(element);
  const interactive = CONTROLS.has(role) && !(role === 'option' && tag === 'option' && !isOption) || focusable || has(element, 'onclick') && tag !== 'body';
  const sought = state.also !== null && state.also.has(element);
  if (!sought && !edited && !worthNaming(element, tag, role, here, focusable, interactive, testId)) return -1;
  if (state.elements.length >= state.limits.nodes) {
    state.cut = true;
    return -1;
  }
  const index = state.elements.length;
  const at = state.at + (state.gap && state.at ? 1 : 0);
  state.elements.push(element);
  state.parent.push(here.parent);
  state.role.push(indexed(state.roleTable, state.roleIndex, role || 'generic'));
  state.tag.push(indexed(state.tagTable, state.tagIndex, tag));
  state.start.push(at);
  state.end.push(at);
  state.frame.push(here.frame);
  pushRect(element, style, state, here, hiddenFile);
  describeNode(element, role, tag, index, interactive, testId, state, here);
  return index;
}

function resolved(element, href) {
  try {
    return new URL(href, getter(Node.prototype, 'baseURI').call(element)).href;
  } catch {
    return href;
  }
}

function testIdOf(element) {
  if (element === attended && attendedNames === NONE) return null;
  for (const name of TEST_IDS) {
    const value = attribute(element, name);
    if (value) return value;
  }
  return null;
}

const areaBoxOr = (element, tag) => (tag === 'area' && areaBox(element)?.box) || rectOf(element);

function pushRect(element, style, state, here, hiddenFile) {
  if (hiddenFile) {
    state.rect.push(0, 0, -1, -1);
    return;
  }
  const rect = areaBoxOr(element, state.tagTable[state.tag[state.tag.length - 1]]);
  const r = Math.round;
  if (style.display === 'contents') state.rect.push(0, 0, -1, -1);
  else state.rect.push(r(rect.x + here.dx), r(rect.y + here.dy), r(rect.width), r(rect.height));
}

// By what it says of itself, else by the frame that holds it.
function editedPageName(element) {
  const own = nameOf(element);
  const frameElement = frameElementOf(documentOf(element));
  return own.text || !frameElement ? own : nameOf(frameElement);
}

function describeNode(element, role, tag, index, interactive, testId, state, here) {
  const name = isEditedPage(element) ? editedPageName(element) : nameOf(element);
  state.name.push(clip(name.text, state.limits.name));
  let flags = (interactive ? FLAG.interactive : 0) | (here.inside ? FLAG.reachable : 0);
  const input = tag === 'input';
  if (input) state.type.push(index, inputType(element));
  if (testId) state.testId.push(index, clip(testId, 200));
  if (tag === 'a' || tag === 'area') {
    const href = attribute(element, 'href');
    if (href !== null) state.href.push(index, clip(String((tag === 'a' ? LINK_HREF : AREA_HREF).call(element)), 4000));
  } else if (tag === 'svg:a' && svgHref(element) !== null) state.href.push(index, clip(resolved(element, svgHref(element)), 4000));
  pushHints(element, role, tag, index, name, interactive, state);
  if (interactive || here.disabled || role === 'row' || role === 'gridcell') {
    const by = disabledBy(element, role, tag, here.disabled);
    if (by !== null) {
      flags |= FLAG.disabled;
      if (by) state.disabledBy.push(index, by);
    }
    const value = valueOf(element, role, tag);
    if (value !== null) state.value.push(index, clip(value, state.limits.value));
    if (isReadOnly(element, tag)) flags |= FLAG.readOnly;
    if (isRequired(element, tag)) flags |= FLAG.required;
    if (isInvalid(element, tag)) flags |= FLAG.invalid;
    const checked = checkedOf(element, role, tag);
    if (checked !== null) flags |= (checked + 1) << 16;
    if (role === 'button') {
      const pressed = triState((attribute(element, 'aria-pressed') || '').toLowerCase());
      if (pressed !== null) flags |= (pressed + 1) << 18;
    }
    const selected = selectedOf(element, role, tag);
    if (selected !== null) flags |= FLAG.selectedKnown | (selected ? FLAG.selected : 0);
    if (tag === 'select') state.options.push([index, optionsOf(element)]);
    if (tag === 'select' ? has(element, 'multiple') : truthy(element, 'aria-multiselectable')) flags |= FLAG.multiselectable;
    const popup = attribute(element, 'aria-haspopup');
    if ((popup !== null && popup !== '' && popup !== 'false') || (role === 'combobox' && popup !== 'false')) flags |= FLAG.popup;
    if (tag === 'textarea' || truthy(element, 'aria-multiline') || (!input && isEditingHost(element) && role !== 'textbox')) flags |= FLAG.multiline;
  } else if (tag === 'meter' || tag === 'progress' || RANGE_ROLES.has(role)) {
    const value = valueOf(element, role, tag);
    if (value !== null) state.value.push(index, clip(value, state.limits.value));
  }
  const expanded = expandedOf(element, tag);
  if (expanded !== null) flags |= FLAG.expandedKnown | (expanded ? FLAG.expanded : 0);
  if (truthy(element, 'aria-busy')) flags |= FLAG.busy;
  if (state.modal === element) flags |= FLAG.modal;
  const live = attribute(element, 'aria-live');
  if (live ? live !== 'off' : LIVE_ROLES.has(role)) flags |= FLAG.live;
  const level = levelOf(element, role, tag);
  if (level !== null) state.level.push(index, level);
  state.flags.push(flags);
}

function optionsOf(select) {
  const list = [];
  for (const option of selectOptions(select)) {
    list.push(clip(fold(optionText(option)), 300));
    if (list.length >= 5000) break;
  }
  return list;
}

// Hints are rows of index, kind and text; kinds by their place in `HintKind`.
const HINT = { title: 0, placeholder: 1, name_attribute: 2, tooltip: 3, description: 4 };
function pushHints(element, role, tag, index, name, interactive, state) {
  const hint = (kindOf, text) => {
    const folded = text ? fold(text) : '';
    if (folded && folded !== name.text) state.hints.push(index, HINT[kindOf], clip(folded, 300));
  };
  if (name.from === 'title') state.hints.push(index, HINT.title, clip(name.text, 300));
  else if (has(element, 'title')) hint('title', attribute(element, 'title'));
  if (!interactive) return;
  if (name.from === 'placeholder') state.hints.push(index, HINT.placeholder, clip(name.text, 300));
  else if (has(element, 'placeholder')) hint('placeholder', attribute(element, 'placeholder'));
  if (NATIVE_FIELDS.has(tag) || tag === 'button') hint('name_attribute', attribute(element, 'name'));
  if (has(element, 'aria-describedby')) {
    const parts = [];
    for (const id of words(attribute(element, 'aria-describedby'))) {
      const target = byId(rootOf(element), id);
      if (target) parts.push(fold(contentOf(target, { ...fresh(), recursive: true, hidden: isHidden(target) })));
    }
    hint('description', parts.join(' '));
  }
  if (!name.text) tooltipHints(element, hint);
}

const TOOLTIP_ATTRIBUTES = ['data-tooltip', 'data-title', 'data-original-title', 'data-tip', 'data-label'];
function tooltipHints(element, hint) {
  for (const name of TOOLTIP_ATTRIBUTES) hint('tooltip', attribute(element, name));
  let count = 0;
  for (const inner of all(element, '[title],[data-tooltip],[data-tip]')) {
    hint('tooltip', attribute(inner, 'title') || attribute(inner, 'data-tooltip') || attribute(inner, 'data-tip'));
    if (++count >= 3) break;
  }
}

// What the children of a listed element see around them.
function within(element, index, state, here) {
  const role = state.roleTable[state.role[index]];
  const inner = { ...here, parent: index };
  if (LEAF_ROLES.has(role)) inner.leaf = true;
  if (role === 'table' || role === 'grid' || role === 'treegrid') inner.table = { headers: [], row: 0, column: 0, cells: 0 };
  if (role === 'row' && here.table) {
    here.table.column = 0;
    here.table.cells = 0;
  }
  return inner;
}

function leave(element, index, state, here) {
  if (state.at > state.start[index]) state.end[index] = state.at;
  else state.start[index] = state.end[index] = Math.min(state.start[index], state.at);
  const table = here.table;
  if (!table) return;
  const role = state.roleTable[state.role[index]];
  if (role === 'columnheader' || role === 'cell' || role === 'gridcell' || role === 'rowheader') {
    const written = Number(attribute(element, 'aria-colindex'));
    if (written >= 1) table.column = written - 1;
    const span = Math.max(1, Math.min(1000, Number(attribute(element, 'colspan') || attribute(element, 'aria-colspan')) || 1));
    if (role === 'columnheader') {
      for (let i = 0; i < span; i++) table.headers[table.column + i] = state.name[index];
    } else {
      table.cells++;
      const header = table.headers[table.column];
      if (header) state.column.push(index, header);
    }
    table.column += span;
  } else if (role === 'row' && table.cells) {
    table.row++;
    state.column.push(index, String(table.row));
  }
}

// Same-origin frames are read in place, others are reported with what finds their context.
function enterFrame(element, tag, index, state, here) {
  if (index < 0 && here.hidden) return;
  const inner = frameDocument(element);
  if (!inner) {
    if (tag === 'object') return;
    state.pendingFrames.push(element);
    state.owned.push([index, frameAddress(element)]);
    return;
  }
  if (here.depth >= state.limits.frames) {
    state.unread.push(['frame_too_deep', frameAddress(element)]);
    return;
  }
  if (getter(Document.prototype, 'readyState').call(inner) === 'loading') state.unread.push(['frame_still_loading', frameAddress(element)]);
  const rect = rectOf(element);
  const path = here.frame >= 0 ? state.frames[here.frame].slice() : [];
  path.push(nameOf(element).text || attribute(element, 'name') || attribute(element, 'id') || tag);
  state.frames.push(path);
  state.gap = 2;
  state.roots.push(inner);
  collectOwners(inner);
  walkDocument(inner, state, {
    ...here,
    frame: state.frames.length - 1, depth: here.depth + 1, leaf: false, table: null, pre: false,
    dx: here.dx + rect.x + element.clientLeft, dy: here.dy + rect.y + element.clientTop,
  });
  state.gap = 2;
}
const frameAddress = (element) => clip(attribute(element, 'src') || (has(element, 'srcdoc') ? 'about:srcdoc' : 'about:blank'), 2000);

// Windows of the frames this realm can't read: BiDi serialises each with its context id.
function frameWindows(generation) {
  if (generation !== store.generation) return [];
  return store.frames.map((element) => (connected(element) ? frameWindow(element) : null));
}

// Custom elements without a written role may have one that only the browser knows. Asked once each, those that
// can take focus first; those that have one again at every read.
const askedCustoms = new WeakSet();
const CUSTOMS = 64;
function noteCustom(element, state) {
  if (askedCustoms.has(element) && !internals?.has(element)) return;
  if (HAS_ATTRIBUTE.call(element, 'role') || !matches(element, ':defined')) return;
  state.customs.push(element);
}
function customs(generation) {
  if (generation !== store.generation) return [];
  const urgent = (element) => Number(!internals?.has(element)) + Number(!isFocusable(element));
  store.customs = store.customs.map((element) => [urgent(element), element]).sort(([a], [b]) => a - b).slice(0, CUSTOMS).map(([, element]) => element);
  return store.customs;
}
// What the browser said of each, in the same order; whether anything is another than it was.
function adoptInternals(generation, list) {
  if (generation !== store.generation) return false;
  let changed = false;
  list.forEach((said, at) => {
    const element = store.customs[at];
    askedCustoms.add(element);
    if (JSON.stringify(internals?.get(element) ?? null) === JSON.stringify(said)) return;
    changed = true;
    internals = internals || new WeakMap();
    if (said) internals.set(element, said);
    else internals.delete(element);
  });
  return changed;
}

// Hosts that may hide a closed root, for BiDi to look at; then the roots it found.
function suspects(generation) {
  if (generation !== store.generation) return [];
  const list = store.suspects.slice(0, 200);
  for (const element of list) if (!tagOf(element).includes('-') || matches(element, ':defined')) askedHosts.add(element);
  return list;
}
function adopt(...pairs) {
  for (let i = 0; i + 1 < pairs.length; i += 2) closedRoots.set(pairs[i], pairs[i + 1]);
  return pairs.length / 2;
}
