// Accessible names: accname 1.2 with HTML-AAM for the native steps. Letters in comments are the steps
// of accname 4.3.2. Where engines differ the browser's computed label decides.

// Roles named by what they contain (2F).
const FROM_CONTENT = new Set(
  `button cell checkbox columnheader gridcell heading link math menuitem menuitemcheckbox menuitemradio option radio
   rowheader switch tab term tooltip treeitem`.split(/\s+/)
);

// One traversal's state. `seen` breaks loops; `inLabelledby` stops 2B from nesting; `hidden` lets a
// hidden node referenced directly speak (2A).
const fresh = () => ({ seen: new Set(), inLabelledby: false, recursive: false, hidden: false, budget: 2000 });

let names = new Map();
const NO_NAME = { text: '', from: '' };

function nameOf(element) {
  let known = names.get(element);
  if (!known) {
    known = computeName(element);
    names.set(element, known);
  }
  return known;
}

function computeName(element) {
  const role = roleOf(element);
  const found = alternative(element, role, fresh());
  if (!found.text) return NO_NAME;
  const text = fold(found.text);
  return text ? { text, from: found.from } : NO_NAME;
}

const said = (text, from) => ({ text, from });

// Steps 2B–2I for one element; `walk.recursive` is set inside another name's traversal.
function alternative(element, role, walk) {
  // 2B: aria-labelledby, not while following another one. Ids that lead nowhere are skipped.
  if (!walk.inLabelledby) {
    const text = labelledBy(element, walk);
    if (text !== null) return said(text, 'labelledby');
  }
  // 2C: a control inside a label or another name speaks its value, not its name.
  if (walk.recursive) {
    const value = embeddedValue(element, role, walk);
    if (value !== null) return said(value, 'value');
  }
  // 2D: aria-label.
  const label = attribute(element, 'aria-label');
  if (label !== null && fold(label)) return said(label, 'label');
  // 2E: what HTML says.
  const native = nativeName(element, role, walk);
  if (native !== null) return native;
  // 2F: content.
  if (namedByContent(element, role, walk)) {
    const text = contentOf(element, walk);
    if (fold(text)) return said(text, 'content');
    if (walk.recursive && !fold(tooltipOf(element, role, walk))) return said(text, 'content');
  }
  // 2I: tooltip.
  const title = tooltipOf(element, role, walk);
  return fold(title) ? said(title, 'title') : NO_NAME;
}

// Elements that name another: by their ids, or set by script without ids (the attribute is empty then).
const LABELLED_BY_ELEMENTS = Object.getOwnPropertyDescriptor(Element.prototype, 'ariaLabelledByElements')?.get;
function labellers(element) {
  const ids = words(attribute(element, 'aria-labelledby'));
  if (!ids.length && LABELLED_BY_ELEMENTS) return LABELLED_BY_ELEMENTS.call(element) || NONE;
  const root = rootOf(element);
  return ids.map((id) => byId(root, id)).filter(Boolean);
}

function labelledBy(element, walk) {
  if (!has(element, 'aria-labelledby')) return null;
  const parts = [];
  let found = false;
  for (const target of labellers(element)) {
    found = true;
    const inner = {
      seen: new Set(target === element ? [] : [element]),
      inLabelledby: true,
      recursive: true,
      hidden: isHidden(target),
      root: target,
      budget: walk.budget,
    };
    inner.seen.add(target);
    parts.push(fold(alternative(target, roleOf(target), inner).text));
  }
  const text = parts.filter(Boolean).join(' ');
  return found && text ? text : null;
}

// Not rendered, or inside something hidden from assistive technology.
function isHidden(element) {
  if (!CHECK_VISIBILITY.call(element, { visibilityProperty: true })) return true;
  return !!closest(element, '[aria-hidden="true" i]');
}

const VALUE_ROLES = new Set(['textbox', 'searchbox']);
const RANGE_ROLES = new Set(['slider', 'spinbutton', 'progressbar', 'scrollbar', 'meter']);

function embeddedValue(element, role, walk) {
  const tag = tagOf(element);
  if (VALUE_ROLES.has(role) || (role === 'combobox' && tag === 'input')) {
    if (isSecretField(element)) return '';
    if (tag === 'input' || tag === 'textarea') return fieldValue(element);
    return tag === 'input' ? '' : contentOf(element, walk);
  }
  if (role === 'combobox' || role === 'listbox') return chosenText(element, tag, walk);
  if (RANGE_ROLES.has(role)) {
    const text = attribute(element, 'aria-valuetext');
    if (text !== null) return text;
    const now = attribute(element, 'aria-valuenow');
    if (now !== null) return now;
    if (tag === 'input') return fieldValue(element);
    if (tag === 'meter' || tag === 'progress') return has(element, 'value') ? gaugeValue(element, tag) : '';
    return defaultValue(element, role);
  }
  return null;
}

// WAI-ARIA 1.2: a range without a value stands in the middle or at nought.
function defaultValue(element, role) {
  if (role === 'progressbar') return '';
  if (role === 'meter' || role === 'spinbutton') return '0';
  const bound = (name, otherwise) => {
    const written = attribute(element, name);
    return written !== null && Number.isFinite(Number(written)) ? Number(written) : otherwise;
  };
  return String((bound('aria-valuemin', 0) + bound('aria-valuemax', 100)) / 2);
}

function gaugeValue(element, tag) {
  return String(getter(tag === 'meter' ? HTMLMeterElement.prototype : HTMLProgressElement.prototype, 'value').call(element));
}

function chosenText(element, tag, walk) {
  if (tag === 'select') {
    const parts = [];
    for (const option of chosenOptions(element)) parts.push(optionText(option));
    return parts.join(' ');
  }
  const parts = [];
  for (const option of all(element, '[role="option"][aria-selected="true"]')) parts.push(contentOf(option, walk));
  if (parts.length) return parts.join(' ');
  return '';
}

const SELECT_OPTIONS = getter(HTMLSelectElement.prototype, 'options');
const CHOSEN_OPTIONS = getter(HTMLSelectElement.prototype, 'selectedOptions');
const selectOptions = (select) => SELECT_OPTIONS.call(select);
const chosenOptions = (select) => CHOSEN_OPTIONS.call(select);
const OPTION_LABEL = getter(HTMLOptionElement.prototype, 'label');
const OPTION_TEXT = getter(HTMLOptionElement.prototype, 'text');
const optionText = (option) => OPTION_LABEL.call(option) || OPTION_TEXT.call(option);

const AREA_VALUE = getter(HTMLTextAreaElement.prototype, 'value');
const INPUT_VALUE = getter(HTMLInputElement.prototype, 'value');
function fieldValue(element) {
  return (tagOf(element) === 'textarea' ? AREA_VALUE : INPUT_VALUE).call(element) || '';
}

const LABELABLE = new Set(['button', 'input', 'meter', 'output', 'progress', 'select', 'textarea']);

// Labels by control, collected once per root: `element.labels` walks the whole document for every
// control it is asked of, which makes a page of n buttons cost n².
let labelMaps = new Map();
const LABEL_CONTROL = getter(HTMLLabelElement.prototype, 'control');
const NO_LABELS = [];

function labelsOf(element) {
  const root = rootOf(element);
  let map = labelMaps.get(root);
  if (!map) {
    map = new Map();
    for (const label of all(root, 'label')) {
      const control = LABEL_CONTROL.call(label);
      if (!control) continue;
      const known = map.get(control);
      if (known) known.push(label);
      else map.set(control, [label]);
    }
    labelMaps.set(root, map);
  }
  return map.get(element) || NO_LABELS;
}

// HTML-AAM 4.1: labels, then what the element has of its own. `null` goes on to content.
function nativeName(element, role, walk) {
  const tag = tagOf(element);
  if (LABELABLE.has(tag) || tag.includes('-')) {
    if (!(tag === 'input' && inputType(element) === 'hidden')) {
      const text = fromLabels(element, walk);
      if (text) return said(text, 'native');
    }
  }
  switch (tag) {
    case 'input':
      return inputName(element, role);
    case 'textarea':
      return placeholderName(element);
    case 'img':
    case 'area': {
      const alt = attribute(element, 'alt');
      return alt !== null && fold(alt) ? said(alt, 'native') : null;
    }
    case 'fieldset':
      return firstOf(element, 'legend', walk);
    case 'table':
      return firstOf(element, 'caption', walk) || summaryName(element);
    case 'figure':
      return null;
    case 'optgroup': {
      const label = attribute(element, 'label');
      return label ? said(label, 'native') : null;
    }
    case 'option': {
      const text = optionText(element);
      return text ? said(text, 'native') : null;
    }
    case 'svg':
    case 'g': {
      const title = svgTitle(element);
      return title ? said(title, 'native') : null;
    }
    default:
      return null;
  }
}

function summaryName(element) {
  const summary = attribute(element, 'summary');
  return summary && fold(summary) ? said(summary, 'native') : null;
}

function fromLabels(element, walk) {
  const labels = labelsOf(element);
  if (!labels.length) return '';
  const parts = [];
  for (const label of labels) {
    // The browser passes over labels that are hidden.
    if (walk.seen.has(label) || isHidden(label)) continue;
    const inner = { seen: new Set(walk.seen), inLabelledby: walk.inLabelledby, recursive: true, hidden: walk.hidden, budget: walk.budget };
    inner.seen.add(label).add(element);
    // A label takes part as content even where its own role has no name; its aria-label counts.
    parts.push(fold(alternative(label, 'label', inner).text));
  }
  return parts.filter(Boolean).join(' ');
}

function firstOf(element, childTag, walk) {
  for (let child = first(element); child; child = next(child)) {
    if (kind(child) === ELEMENT && tagOf(child) === childTag) {
      const inner = { ...walk, seen: new Set(walk.seen), recursive: true };
      inner.seen.add(element).add(child);
      if (!walk.hidden && isHidden(child)) return null;
      const text = alternative(child, 'label', inner).text;
      return fold(text) ? said(text, 'native') : null;
    }
  }
  return null;
}

function inputName(element) {
  const type = inputType(element);
  if (type === 'button' || type === 'submit' || type === 'reset') {
    const value = attribute(element, 'value');
    if (value !== null && (fold(value) || type === 'button')) return fold(value) ? said(value, 'native') : null;
    if (value !== null) return null;
    if (type === 'button') return null;
    return said(type === 'submit' ? 'Submit' : 'Reset', 'native');
  }
  if (type === 'image') {
    for (const name of ['alt', 'value', 'title']) {
      const text = attribute(element, name);
      if (text && fold(text)) return said(text, name === 'title' ? 'title' : 'native');
    }
    return said('Submit', 'native');
  }
  if (type === 'file') return said(has(element, 'multiple') ? 'Choose Files' : 'Choose File', 'native');
  return placeholderName(element);
}

// Title before placeholder, both only where nothing else speaks (HTML-AAM 4.1.1).
function placeholderName(element) {
  const title = attribute(element, 'title');
  if (title && fold(title)) return said(title, 'title');
  const text = attribute(element, 'placeholder') || attribute(element, 'aria-placeholder');
  return text && fold(text) ? said(text, 'placeholder') : null;
}

function tooltipOf(element, role, walk) {
  const title = attribute(element, 'title');
  if (title === null || (attribute(element, 'alt') === '' && tagOf(element) === 'img')) return '';
  if (!walk.recursive || walk.root === element) return title;
  // Inside another name only things that stand for themselves speak through a tooltip.
  const tag = tagOf(element);
  return role !== 'generic' && role !== '' || tag === 'abbr' ? title : '';
}

// In Chromium these take part in a surrounding name through their content (or not at all).
const NO_CONTENT_INSIDE = new Set(['iframe', 'frame', 'object', 'embed', 'math', 'audio', 'video', 'script', 'style',
  'template', 'noscript', 'head', 'meta', 'link', 'title', 'datalist', 'select', 'input', 'textarea', 'svg', 'img']);

// Regions of their own say nothing inside another name, unless aria-labelledby leads there.
const QUIET_INSIDE = new Set(
  `alert alertdialog article banner blockquote complementary contentinfo dialog feed figure form grid group image log main marquee
   menu menubar meter navigation note progressbar radiogroup row scrollbar search separator slider spinbutton status table
   tablist tabpanel timer toolbar tree treegrid`.split(/\s+/)
);
// Native ones that do: plain tables, details, drawings.
const SPEAKS_INSIDE = new Set(['details', 'table', 'tr', 'svg']);

function namedByContent(element, role, walk) {
  const tag = tagOf(element);
  if (walk.recursive && !walk.inLabelledby && QUIET_INSIDE.has(role) && !SPEAKS_INSIDE.has(tag)) return false;
  if (walk.recursive) return !NO_CONTENT_INSIDE.has(tag) || (tag === 'svg' && role !== 'image');
  if (NO_CONTENT_INSIDE.has(tag)) return false;
  if (role === 'row') return inGrid(element);
  if (isEditingHost(element)) return false;
  return FROM_CONTENT.has(role);
}

function inGrid(row) {
  for (let up = flatParent(row), steps = 0; up && steps < 4; up = flatParent(up), steps++) {
    const role = roleOf(up);
    if (role === 'grid' || role === 'treegrid') return true;
    if (role !== 'generic' && role !== '' && role !== 'rowgroup') return false;
  }
  return false;
}

// 2F: the content, with the pseudo-elements around it. A blank goes where a block begins or ends, as
// the eye sees one there.
function contentOf(element, walk) {
  if (walk.budget-- <= 0) return '';
  walk.seen.add(element);
  const inner = walk.recursive ? walk : { ...walk, recursive: true, item: roleOf(element) === 'treeitem' };
  let text = pseudoText(element, '::before');
  let gap = false;
  const each = (child) => {
    const type = kind(child);
    if (type === TEXT) {
      let data = TEXT_DATA.call(child);
      if (!data) return;
      const up = parentOf(child);
      if (up && kind(up) === ELEMENT && !inner.hidden) {
        const how = styleOf(up).transform;
        if (how !== 'none') data = transformed(data, how);
      }
      text += (gap && text ? ' ' : seam(text, data)) + data;
      gap = false;
      return;
    }
    if (type !== ELEMENT || inner.seen.has(child)) return;
    const tag = tagOf(child);
    if (tag === 'br' || tag === 'wbr') {
      gap = true;
      return;
    }
    if (SILENT.has(tag)) return;
    // A tree item's branch is no part of its own name.
    if (inner.item && roleOf(child) === 'group') return;
    const style = styleOf(child);
    if (!inner.hidden) {
      if (!style.shown && style.display !== 'contents') return;
      if (truthy(child, 'aria-hidden') || has(child, 'inert')) return;
      if (style.locked || !style.drawn) {
        if (!style.drawn && first(child)) {
          // A child may be visible again.
          const part = contentOf(child, inner);
          if (fold(part)) text += seam(text, part) + part;
        }
        return;
      }
    }
    // Not rendered counts as a block of its own; pictures and other boxes in the line stand apart.
    const block = style.apart || tag === 'img' || tag === 'svg' || tag === 'canvas' || (inner.hidden && style.display === 'none');
    if (block && text) gap = true;
    const found = alternative(child, roleOf(child), inner);
    const part = found.text;
    const apart = block || (part && found.from.startsWith('label'));
    if (part) {
      if (apart && text) gap = true;
      text += (gap && text ? ' ' : seam(text, part)) + part;
      gap = false;
    }
    if (apart && text) gap = true;
  };
  const closedDetails = tagOf(element) === 'details' && !has(element, 'open') && !inner.hidden;
  const visible = inner.hidden || styleOf(element).drawn;
  for (const child of flatChildren(element)) {
    if (closedDetails && !(kind(child) === ELEMENT && isSummary(child))) continue;
    if (kind(child) === TEXT && !visible) continue;
    if (owner(child) && owner(child) !== element) continue;
    each(child);
  }
  if (owners && has(element, 'aria-owns')) {
    for (const id of words(attribute(element, 'aria-owns'))) {
      const owned = byId(rootOf(element), id);
      if (owned && owner(owned) === element) {
        gap = true;
        each(owned);
      }
    }
  }
  const after = pseudoText(element, '::after');
  return text + seam(text, after) + after;
}

const SILENT = new Set(['script', 'style', 'template', 'noscript', 'head', 'meta', 'link', 'title', 'datalist', 'param', 'source', 'track', 'rt', 'rp']);

function forgetNames() {
  names = new Map();
  labelMaps = new Map();
}
