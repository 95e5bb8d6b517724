// CSS queries, extraction, fingerprints, and the probe for login fields.

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
  const text = found instanceof HTMLElement || 'innerText' in found ? getter(HTMLElement.prototype, 'innerText').call(found) : TEXT_CONTENT.call(found);
  return fold(text || '');
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

// Login fields by security.md 2.3. Only booleans, counts, indices and fixed words leave: the probe is
// the one read allowed while a secret is being typed.
const TEXTLIKE = new Set(['text', 'email', 'tel', 'url', 'search']);
function probe(generation) {
  const fields = { passwords: [], newPasswords: 0, usernames: [], codes: [], texts: [], filled: 0, held: 0 };
  const elements = generation === store.generation ? store.elements : [];
  elements.forEach((field, index) => {
    if (!connected(field) || tagOf(field) !== 'input') return;
    const type = inputType(field);
    const tokens = words((attribute(field, 'autocomplete') || '').toLowerCase());
    const usable = fillable(field);
    if (type === 'password' || protectedFields.has(field)) {
      if (fieldValue(field)) fields.held++;
    }
    if (!usable) return;
    if (tokens.includes('one-time-code')) fields.codes.push(index);
    else if (type === 'password') {
      if (tokens.includes('new-password')) fields.newPasswords++;
      else fields.passwords.push(index);
    } else if (TEXTLIKE.has(type) || type === 'number') {
      if (tokens.includes('username')) fields.usernames.push(index);
      else fields.texts.push(index);
      if (looksLikeCode(field)) fields.codes.push(index);
    }
  });
  return JSON.stringify(verdict(fields, elements));
}
// Visible, big enough, opaque, topmost: what a person could have clicked into. Anything else may be a
// trap for whoever fills it.
function fillable(field) {
  if (!CHECK_VISIBILITY.call(field, { visibilityProperty: true })) return false;
  if (matches(field, ':disabled') || has(field, 'readonly')) return false;
  const rect = rectOf(field);
  if (rect.width < 8 || rect.height < 8) return false;
  for (let up = field; up; up = flatParent(up)) {
    if (Number((windowOf(up) || window).getComputedStyle(up).opacity) < 0.1) return false;
  }
  const [x, y] = offsetOf(documentOf(field));
  const right = rect.right + x + window.scrollX;
  const bottom = rect.bottom + y + window.scrollY;
  return right > 0 && bottom > 0;
}
function looksLikeCode(field) {
  const mode = attribute(field, 'inputmode');
  const most = Number(attribute(field, 'maxlength'));
  return mode === 'numeric' && most >= 4 && most <= 8;
}
function verdict(fields, elements) {
  const out = { kind: 'none', username: -1, password: -1, code: -1, held: fields.held, passwords: fields.passwords.length, newPasswords: fields.newPasswords };
  if (fields.passwords.length + fields.newPasswords > 1) return { ...out, kind: 'change_or_registration' };
  if (fields.newPasswords) return { ...out, kind: 'change_or_registration' };
  if (fields.passwords.length === 1) {
    const password = fields.passwords[0];
    out.kind = 'login';
    out.password = password;
    out.username = usernameFor(password, fields, elements);
    return out;
  }
  if (fields.codes.length === 1) return { ...out, kind: 'code', code: fields.codes[0] };
  if (fields.codes.length > 1) return { ...out, kind: 'many_codes' };
  if (fields.usernames.length === 1) return { ...out, kind: 'username_first', username: fields.usernames[0] };
  if (fields.texts.length === 1) return { ...out, kind: 'one_text', username: fields.texts[0] };
  return out;
}
function usernameFor(password, fields, elements) {
  const form = formOf(elements[password]);
  const near = (index) => formOf(elements[index]) === form && documentOf(elements[index]) === documentOf(elements[password]);
  const marked = fields.usernames.filter(near);
  if (marked.length === 1) return marked[0];
  const before = fields.texts.concat(fields.usernames).filter((index) => index < password && near(index));
  return before.length ? Math.max(...before) : -1;
}
