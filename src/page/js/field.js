// Fields: focus, setting, reading back, forms.

function focus(generation, index) {
  const found = held(generation, index).element;
  if (!found) return false;
  HTMLElement.prototype.focus.call(found, { preventScroll: true });
  return hasFocus(generation, index);
}
// Is the element (or what it holds) where keys would go? Asked before every key of a secret.
function hasFocus(generation, index) {
  const found = held(generation, index).element;
  const active = deepActive(document);
  return !!found && !!active && (active === found || inside(found, active));
}

// Selects what the field holds, as Ctrl+A would; keys then replace it.
function selectText(generation, index) {
  const found = held(generation, index).element;
  if (!found) return false;
  const tag = tagOf(found);
  if (tag === 'input' || tag === 'textarea') {
    (tag === 'input' ? HTMLInputElement : HTMLTextAreaElement).prototype.select.call(found);
    return true;
  }
  const document_ = documentOf(found);
  const range = Document.prototype.createRange.call(document_);
  range.selectNodeContents(found);
  const selection = windowOf(found).getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return true;
}

// Text as it stands where the caret is: a tab that is a key leads to the next field. Only while the
// field has the focus.
function insertText(generation, index, text) {
  if (!hasFocus(generation, index)) return false;
  return Document.prototype.execCommand.call(documentOf(held(generation, index).element), 'insertText', false, text);
}

// Into a field to type over what it holds; false where the focus went elsewhere.
function enter(generation, index) {
  return focus(generation, index) && selectText(generation, index);
}
function isBlank(field) {
  const tag = tagOf(field);
  return (tag === 'input' || tag === 'textarea') && fieldValue(field) === '';
}
// Out of it, as a finished edit; what it shows once the page has heard of it.
async function leaveField(generation, index) {
  const found = held(generation, index).element;
  if (found) HTMLElement.prototype.blur.call(found);
  await new Promise((resolve) => setTimeout(resolve, 0));
  return readBack(generation, index);
}

// What a field shows after keys were typed into it. Where that is what they make and the document has been
// quiet for two frames, nothing more is waited for: it is left.
async function finishField(generation, index, text) {
  const seen = JSON.parse(readBack(generation, index));
  if (seen.value !== text || seen.quiet < 32) return pack(seen);
  const left = JSON.parse(await leaveField(generation, index));
  return pack({ ...seen, left: left.value });
}

function fire(element, type, options) {
  const view = windowOf(element) || window;
  return EventTarget.prototype.dispatchEvent.call(element, new view.Event(type, { bubbles: true, composed: true, ...options }));
}

// For fields that take no typing (date, time, color, range): the native setter, past any property a
// framework put on the element, then what a person's edit would send.
function setValue(generation, index, value) {
  const found = held(generation, index).element;
  if (!found || tagOf(found) !== 'input') return JSON.stringify({ ok: false, reason: 'not_settable' });
  HTMLElement.prototype.focus.call(found, { preventScroll: true });
  setter(HTMLInputElement.prototype, 'value').call(found, value);
  fire(found, 'input');
  fire(found, 'change');
  return pack({ ok: true, value: isSecretField(found) ? null : fieldValue(found) });
}

// What the field shows now. A secret one answers with its length only.
function readBack(generation, index) {
  const found = held(generation, index);
  if (found.reason) return JSON.stringify({ reason: found.reason });
  const field = found.element;
  const tag = tagOf(field);
  if (isSecretField(field)) return JSON.stringify({ length: tag === 'input' || tag === 'textarea' ? fieldValue(field).length : null });
  forgetRoles();
  forgetNames();
  forgetStyles();
  return pack({ value: valueOf(field, roleOf(field), tag), valid: !isInvalid(field, tag), quiet: quietSince() });
}

// Picks an option of a native select by its position; events as for a person's choice.
function selectOption(generation, index, positions) {
  const found = held(generation, index).element;
  if (!found || tagOf(found) !== 'select') return JSON.stringify({ ok: false, reason: 'not_a_select' });
  const options = selectOptions(found);
  for (const at of positions) {
    const option = options[at];
    if (!option) return JSON.stringify({ ok: false, reason: 'no_such_option' });
    if (matches(option, ':disabled')) return JSON.stringify({ ok: false, reason: 'disabled' });
  }
  HTMLElement.prototype.focus.call(found, { preventScroll: true });
  const set = setter(HTMLOptionElement.prototype, 'selected');
  if (has(found, 'multiple')) for (let i = 0; i < options.length; i++) set.call(options[i], positions.includes(i));
  else set.call(options[positions[0]], true);
  fire(found, 'input');
  fire(found, 'change');
  return pack({ ok: true, value: valueOf(found, 'combobox', 'select') });
}

// 0 false, 1 true, 2 mixed, -1 not a thing that is checked, -2 only the browser knows what it is by now.
function checkedState(generation, index) {
  const found = held(generation, index).element;
  if (!found) return -1;
  if (internals?.has(found)) return -2;
  forgetRoles();
  const role = roleOf(found);
  const checked = checkedOf(found, role, tagOf(found));
  if (checked !== null) return checked;
  const pressed = triState((attribute(found, 'aria-pressed') || '').toLowerCase());
  const selected = selectedOf(found, role, tagOf(found));
  return pressed ?? (selected === null ? -1 : Number(selected));
}

// Where a submit would go, by attributes only: `form.action` can be clobbered by a field of that name.
function formFacts(generation, index) {
  const found = held(generation, index).element;
  if (!found) return JSON.stringify(null);
  const form = formOf(found);
  if (!form) return JSON.stringify(null);
  const facts = { submitter: {}, fields: [] };
  for (const name of ['action', 'method', 'enctype', 'target', 'id', 'name']) facts[name] = attribute(form, name);
  for (const name of ['formaction', 'formmethod', 'formenctype', 'formtarget', 'name', 'value']) facts.submitter[name] = attribute(found, name);
  facts.base = String(getter(Node.prototype, 'baseURI').call(form));
  facts.label = nameOf(form).text;
  facts.submits = submits(found);
  for (const field of getter(HTMLFormElement.prototype, 'elements').call(form)) {
    const name = attribute(field, 'name');
    if (!name) continue;
    const tag = tagOf(field);
    const type = tag === 'input' ? inputType(field) : tag;
    facts.fields.push({ name: clip(name, 200), type, secret: isSecretField(field), filled: !!(NATIVE_FIELDS.has(tag) && fieldFilled(field, tag)), value: fieldDigest(field, tag), shown: fieldShown(field, tag, type) });
  }
  return pack(facts);
}
// A link whose own `download` names the file, and where it leads; null for every other element.
function downloadFacts(generation, index) {
  const found = held(generation, index).element;
  const link = found && closest(found, 'a[href][download]');
  return pack(link ? { name: attribute(link, 'download'), href: attribute(link, 'href'), base: String(getter(Node.prototype, 'baseURI').call(link)) } : null);
}
// Tells two values apart without giving either away; nothing at all for secret fields.
function fieldDigest(field, tag) {
  if (!NATIVE_FIELDS.has(tag) || isSecretField(field)) return '';
  return digestOf(tag === 'select' ? [...selectOptions(field)].filter((option) => option.selected).map(optionText).join('\u001f') : fieldValue(field) + '\u001f' + (checkedOf(field, roleOf(field), tag) ?? ''));
}
// What a person sees in it, for the one who is asked whether it may be sent. Cut by whoever shows it: a
// value cut before it is scrubbed is no longer known.
function fieldShown(field, tag, type) {
  if (!NATIVE_FIELDS.has(tag) || isSecretField(field) || type === 'hidden') return '';
  if (tag === 'select') return clip([...selectOptions(field)].filter((option) => option.selected).map(optionText).join(', '), LIMITS.value);
  const checked = checkedOf(field, roleOf(field), tag);
  return checked === null ? clip(fieldValue(field), LIMITS.value) : checked ? 'yes' : 'no';
}
function fieldFilled(field, tag) {
  if (tag === 'select') return selectOptions(field).length > 0;
  return fieldValue(field).length > 0;
}
const FORM_OF = {
  button: HTMLButtonElement, input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement,
  fieldset: HTMLFieldSetElement, output: HTMLOutputElement,
};
function formOf(element) {
  const proto = FORM_OF[tagOf(element)];
  return (proto && getter(proto.prototype, 'form').call(element)) || closest(element, 'form');
}

// Whether pressing the element submits its form.
function submits(element) {
  const tag = tagOf(element);
  return (tag === 'button' && getter(HTMLButtonElement.prototype, 'type').call(element) === 'submit') ||
    (tag === 'input' && /^(submit|image)$/.test(inputType(element)));
}
// The submit button a person would press for the element's form: [index] of the read, or -1.
function submitterOf(generation, index) {
  const found = held(generation, index).element;
  const form = found && (tagOf(found) === 'form' ? found : formOf(found));
  if (!form) return -1;
  for (let i = 0; i < store.elements.length; i++) {
    const candidate = store.elements[i];
    if (submits(candidate) && formOf(candidate) === form && !matches(candidate, ':disabled')) return i;
  }
  return -1;
}

// While a secret is typed, a key that would land anywhere but in its field is stopped before the page
// hears of it: a page that moves the focus in the middle gets nothing (failure 081).
let guarded = null;
function guard(generation, index, on) {
  guarded = on ? held(generation, index).element || null : null;
  return !!guarded;
}
function stray(event) {
  if (!guarded) return;
  const target = Event.prototype.composedPath.call(event)[0];
  if (target === guarded || (target && target.nodeType && inside(guarded, target))) return;
  Event.prototype.preventDefault.call(event);
  Event.prototype.stopImmediatePropagation.call(event);
}
// Registered before any script of the page has run, hence asked first.
for (const type of ['keydown', 'keypress', 'beforeinput', 'textInput', 'input', 'keyup']) {
  EventTarget.prototype.addEventListener.call(window, type, stray, true);
}

// Elements the broker filled or the scenario protects: never read again, masked in pictures.
function protect(generation, indices, on) {
  for (const index of indices) {
    const found = held(generation, index).element;
    if (found) on ? protectedFields.add(found) : protectedFields.delete(found);
  }
  return true;
}
// How many fields of a secret hold something.
function heldFields() {
  let filled = 0;
  for (const field of everyElement(document)) {
    const tag = tagOf(field);
    if ((tag === 'input' || tag === 'textarea') && isSecretField(field) && fieldValue(field)) filled++;
  }
  return filled;
}
// Empties protected fields after the submit was answered; says how many still hold something.
function clearProtected() {
  let left = 0;
  for (const field of everyElement(document)) {
    const tag = tagOf(field);
    if ((tag !== 'input' && tag !== 'textarea') || !isSecretField(field) || !fieldValue(field)) continue;
    setter(tag === 'input' ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype, 'value').call(field, '');
    fire(field, 'input');
    if (fieldValue(field)) left++;
  }
  return left;
}
