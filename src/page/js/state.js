// States and values of controls (WAI-ARIA 1.2 section 6, HTML-AAM).

// Fields whose value is never read: by type, by autocomplete word, by drawing, and by the caller's list.
const protectedFields = new WeakSet();

function isSecretField(element) {
  const tag = tagOf(element);
  if (protectedFields.has(element)) return true;
  if (tag !== 'input' && tag !== 'textarea') return false;
  if (tag === 'input' && (inputType(element) === 'password' || (attribute(element, 'type') || '').toLowerCase() === 'password')) return markSecret(element);
  const autocomplete = attribute(element, 'autocomplete');
  if (autocomplete && /(password|one-time-code|cc-number|cc-csc)\s*$/i.test(autocomplete.trim())) return true;
  const security = (windowOf(element) || window).getComputedStyle(element).webkitTextSecurity;
  return !!security && security !== 'none';
}
// Once a password field, always one: a "show password" button only changes its type (failure 080).
function markSecret(element) {
  protectedFields.add(element);
  return true;
}

function triState(text) {
  return text === 'mixed' ? 2 : text === 'true' ? 1 : text === 'false' ? 0 : null;
}
const INDETERMINATE = getter(HTMLInputElement.prototype, 'indeterminate');
const CHECKED = getter(HTMLInputElement.prototype, 'checked');
const SELECTED = getter(HTMLOptionElement.prototype, 'selected');
const CHECKABLE = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem']);

function checkedOf(element, role, tag) {
  if (tag === 'input' && (role === 'checkbox' || role === 'radio' || role === 'switch' || CHECKABLE.has(role))) {
    const type = inputType(element);
    if (type === 'checkbox' || type === 'radio') {
      if (type === 'checkbox' && INDETERMINATE.call(element)) return 2;
      return CHECKED.call(element) ? 1 : 0;
    }
  }
  if (!CHECKABLE.has(role)) return null;
  const written = triState((attribute(element, 'aria-checked') || '').toLowerCase());
  if (written !== null) return written;
  return role === 'option' || role === 'treeitem' ? null : 0;
}

function expandedOf(element, tag) {
  if (tag === 'summary' && isSummary(element)) return has(parentOf(element), 'open');
  const written = attribute(element, 'aria-expanded');
  return written === 'true' ? true : written === 'false' ? false : null;
}

const SELECTABLE = new Set(['option', 'tab', 'row', 'gridcell', 'treeitem', 'columnheader', 'rowheader']);
function selectedOf(element, role, tag) {
  if (tag === 'option') return SELECTED.call(element);
  if (!SELECTABLE.has(role)) return null;
  const written = attribute(element, 'aria-selected');
  return written === 'true' ? true : written === 'false' ? false : null;
}

// What disables the element: '' for itself, the ancestor's words, or null when enabled.
const DISABLED_ROLES = new Set(
  `application button combobox composite grid gridcell group input link listbox menu menubar menuitem menuitemcheckbox
   menuitemradio option radio radiogroup row rowheader columnheader scrollbar searchbox select separator slider spinbutton
   switch tab tablist textbox toolbar tree treegrid treeitem checkbox`.split(/\s+/)
);
const FORM_CONTROLS = new Set(['button', 'input', 'select', 'textarea', 'fieldset', 'optgroup', 'option']);

function disabledBy(element, role, tag, inherited) {
  if (FORM_CONTROLS.has(tag) && matches(element, ':disabled')) {
    if (has(element, 'disabled')) return '';
    const set = closest(element, 'fieldset:disabled');
    if (set) return `fieldset ${quotedName(set)}`.trim();
    const outer = closest(element, 'select:disabled, optgroup:disabled');
    return outer ? `${tagOf(outer)} ${quotedName(outer)}`.trim() : '';
  }
  if (tag.includes('-') && matches(element, ':disabled')) return '';
  if (!DISABLED_ROLES.has(role)) return null;
  if (truthy(element, 'aria-disabled')) return '';
  if (inherited && attribute(element, 'aria-disabled') === null) return `aria-disabled on ${describe(inherited)}`;
  return null;
}
function quotedName(element) {
  const name = nameOf(element).text;
  return name ? `"${clip(name, 60)}"` : '';
}
// A short name for messages: role and name, or the tag with its id.
function describe(element) {
  const role = roleOf(element);
  const name = nameOf(element).text;
  const word = role && role !== 'generic' ? role : tagOf(element);
  if (name) return `${word} "${clip(name, 60)}"`;
  const id = attribute(element, 'id');
  return id ? `${word} #${clip(id, 40)}` : word;
}

const EDITABLE = new Set(['textbox', 'searchbox', 'combobox', 'spinbutton', 'slider', 'listbox']);
const NATIVE_FIELDS = new Set(['input', 'textarea', 'select']);
const UNVALUED_TYPES = new Set(['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'hidden']);

function valueOf(element, role, tag) {
  if (NATIVE_FIELDS.has(tag)) {
    if (isSecretField(element)) return null;
    if (tag === 'select') {
      const parts = [];
      for (const option of chosenOptions(element)) parts.push(fold(optionText(option)));
      return parts.join(', ');
    }
    if (tag === 'input' && UNVALUED_TYPES.has(inputType(element))) return null;
    if (tag === 'input' && inputType(element) === 'file') {
      const files = getter(HTMLInputElement.prototype, 'files').call(element);
      const list = [];
      for (const file of files || []) list.push(file.name);
      return list.join(', ');
    }
    return fieldValue(element);
  }
  if (isSecretField(element)) return null;
  if (tag === 'meter' || tag === 'progress') {
    return has(element, 'value') ? gaugeValue(element, tag) : null;
  }
  if (RANGE_ROLES.has(role)) return attribute(element, 'aria-valuetext') ?? attribute(element, 'aria-valuenow');
  if (VALUE_ROLES.has(role) || isEditingHost(element)) return editableText(element);
  if (role === 'combobox') return fold(contentOf(element, { ...fresh(), recursive: true }));
  return null;
}
// Visible text of a rich editor, lines kept.
function editableText(element) {
  const text = ('innerText' in element ? getter(HTMLElement.prototype, 'innerText') : TEXT_CONTENT).call(element) || '';
  return text.replace(/\u00a0/g, ' ').replace(/\n$/, '');
}

function isReadOnly(element, tag) {
  if (tag === 'input' || tag === 'textarea') return has(element, 'readonly');
  return truthy(element, 'aria-readonly');
}
function isRequired(element, tag) {
  return (NATIVE_FIELDS.has(tag) && has(element, 'required')) || truthy(element, 'aria-required');
}
function isInvalid(element, tag) {
  const written = attribute(element, 'aria-invalid');
  if (written !== null && written !== '' && written !== 'false') return true;
  return NATIVE_FIELDS.has(tag) && matches(element, ':user-invalid');
}

function levelOf(element, role, tag) {
  if (has(element, 'aria-level')) {
    const written = Number(attribute(element, 'aria-level'));
    if (written >= 1 && written <= 255) return written;
  }
  if (role !== 'heading') return null;
  const match = /^h([1-6])$/.exec(tag);
  return match ? Number(match[1]) : 2;
}

const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
