// CSS queries, extraction, fingerprints.

// Elements for a `css:` target: their indices in the read, adding those that were not listed.
function query(generation, css) {
  if (generation !== store.generation) return JSON.stringify({ reason: 'stale' });
  const found = [];
  let nodes;
  try {
    nodes = queryDeep(document, css);
  } catch {
    return JSON.stringify({ reason: 'bad_selector' });
  }
  forgetStyles();
  for (const element of nodes) {
    if (!CHECK_VISIBILITY.call(element, { visibilityProperty: true })) continue;
    let index = store.elements.indexOf(element);
    if (index < 0) {
      index = store.elements.length;
      store.elements.push(element);
    }
    found.push({ index, role: roleOf(element) || 'generic', name: clip(nameOf(element).text, LIMITS.name), tag: tagOf(element) });
    if (found.length >= 1000) break;
  }
  return pack({ found });
}
function queryDeep(root, css) {
  const out = [...all(root, css)];
  for (const element of all(root, '*')) {
    const shadow = shadowOf(element);
    if (shadow) out.push(...queryDeep(shadow, css));
    const inner = frameDocument(element);
    if (inner) out.push(...queryDeep(inner, css));
  }
  return out;
}

// Extraction: spec is {css, attr} → text or null, {each, fields: {name: spec}} → rows, in order.
// Visible text for elements, written value for attributes, never the value of a secret field.
function extract(spec) {
  try {
    return pack({ data: extracted(document, spec) });
  } catch (problem) {
    return pack({ reason: 'bad_selector', css: String(problem && problem.message).slice(0, 200) });
  }
}
function extracted(root, spec) {
  if (spec.each) {
    const rows = [];
    for (const row of findAll(root, spec.each)) {
      const record = {};
      for (const name of Object.keys(spec.fields)) record[name] = extracted(row, spec.fields[name]);
      rows.push(record);
      if (rows.length >= 100000) break;
    }
    return rows;
  }
  const found = spec.css ? findAll(root, spec.css)[0] : root;
  if (!found || kind(found) !== ELEMENT) return null;
  if (spec.attr) {
    if (spec.attr === 'value' && isSecretField(found)) return null;
    const value = attribute(found, spec.attr);
    return value === null ? null : value;
  }
  const tag = tagOf(found);
  if (NATIVE_FIELDS.has(tag)) return valueOf(found, roleOf(found), tag);
  return shownText(found);
}
// As shown, with a seam where one element's text runs into the next one's: what stands at such a border is
// a word of its own there, as it is in a read.
function shownText(element) {
  const inner = element instanceof HTMLElement || 'innerText' in element ? getter(HTMLElement.prototype, 'innerText').call(element) : TEXT_CONTENT.call(element);
  const text = fold(inner || '');
  // The page's style may change the case of what is shown.
  const low = text.toLowerCase();
  const same = low.length === text.length;
  const borders = [];
  let at = 0;
  for (const node of textsIn(element)) {
    const data = fold(TEXT_DATA.call(node));
    const from = data ? (same ? low.indexOf(data.toLowerCase(), at) : text.indexOf(data, at)) : -1;
    if (from < 0) continue;
    borders.push(from, from + data.length);
    at = from + data.length;
  }
  let out = '';
  let copied = 0;
  for (const border of borders) {
    const piece = text.slice(copied, border);
    out += seam(out, piece) + piece;
    copied = border;
  }
  return out + seam(out, text.slice(copied)) + text.slice(copied);
}
// Text nodes that are shown, in order.
function* textsIn(element) {
  for (let node = first(element); node; node = next(node)) {
    if (kind(node) === TEXT) yield node;
    else if (kind(node) === ELEMENT && CHECK_VISIBILITY.call(node, { visibilityProperty: true })) yield* textsIn(node);
  }
}
function findAll(root, css) {
  if (root !== document && kind(root) === ELEMENT && css === ':scope') return [root];
  const here = [...all(root, css)];
  return here.length || root !== document ? here : queryDeep(document, css);
}

// Digest of what can be acted on, blind to clocks, counters and spinners: role, name without digits,
// states; headings and alerts. FNV-1a over the lot; only the number leaves.
function fingerprint() {
  const parts = [];
  for (const element of store.elements) {
    if (!connected(element)) continue;
    const role = roleOf(element);
    if (role === 'progressbar' || role === 'timer' || role === 'meter') continue;
    if (!CONTROLS.has(role) && role !== 'heading' && role !== 'alert' && role !== 'dialog') continue;
    const tag = tagOf(element);
    parts.push(role, nameOf(element).text.replace(/\d+/g, '#'), disabledBy(element, role, tag, null) !== null, checkedOf(element, role, tag), expandedOf(element, tag));
    if (role === 'alert') parts.push(fold(TEXT_CONTENT.call(element) || '').replace(/\d+/g, '#'));
  }
  return digestOf(parts.join('\u001f'));
}
// FNV-1a, twice.
function digestOf(text) {
  let a = 0x811c9dc5;
  let b = 0x1b873593;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b) + i;
  }
  return (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');
}
