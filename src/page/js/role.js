// Roles: WAI-ARIA 1.2 for written ones, HTML-AAM 1.0 for the rest; where the two leave a choice the
// browser's own computed role decides (ci/tests/e2e/oracle.rs).

const ROLES = new Set(
  `alert alertdialog application article blockquote button caption cell checkbox code columnheader combobox comment
   complementary contentinfo banner definition deletion dialog directory document emphasis feed figure form generic grid
   gridcell group heading image img insertion link list listbox listitem log main mark marquee math menu menubar menuitem
   menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup
   region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript
   suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid
   treeitem`.split(/\s+/)
);

// WAI-ARIA 1.2 "Required Context Role", as far as the browser drops a role without it.
const NEEDS = {
  option: ['listbox', 'combobox', 'group', 'select'],
  listitem: ['list', 'directory', 'group'],
  treeitem: ['tree', 'group', 'treeitem'],
};

// Global attributes that undo `none` (WAI-ARIA 1.2, 5.3.3 "Presentational Roles Conflict Resolution").
const GLOBAL = ['aria-label', 'aria-labelledby', 'aria-live', 'aria-describedby', 'aria-atomic', 'aria-busy', 'aria-controls',
  'aria-current', 'aria-details', 'aria-dropeffect', 'aria-flowto', 'aria-grabbed', 'aria-keyshortcuts', 'aria-owns',
  'aria-relevant', 'aria-roledescription'];

const SECTIONING = new Set(['article', 'aside', 'main', 'nav', 'section']);
const SECTION_ROLES = new Set(['article', 'complementary', 'main', 'navigation', 'region']);

const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', checkbox: 'checkbox',
  radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: '',
};
// No ARIA role exists for these (HTML-AAM: "no corresponding role"); a person fills them.
const PICKERS = new Set(['date', 'datetime-local', 'month', 'week', 'time', 'color']);
const LIST_INPUTS = new Set(['text', 'search', 'tel', 'url', 'email', 'number', 'date', 'month', 'week', 'time', 'datetime-local']);

const TAG_ROLES = {
  address: 'group', article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', caption: 'caption',
  code: 'code', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term', dialog: 'dialog', dt: 'term',
  em: 'emphasis', fieldset: 'group', figure: 'figure', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading',
  h4: 'heading', h5: 'heading', h6: 'heading', hgroup: 'group', hr: 'separator', ins: 'insertion', main: 'main',
  mark: 'mark', menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', output: 'status', p: 'paragraph',
  progress: 'progressbar', s: 'deletion', search: 'search', strong: 'strong', sub: 'subscript', sup: 'superscript',
  textarea: 'textbox', time: 'time', ul: 'list', optgroup: 'group', option: 'option', math: 'math',
};

let roles = new Map();

const INPUT_TYPE = getter(HTMLInputElement.prototype, 'type');
const inputType = (element) => INPUT_TYPE.call(element);

function isFocusable(element) {
  const tag = tagOf(element);
  if (has(element, 'tabindex') && /^\s*[+-]?\d/.test(attribute(element, 'tabindex'))) return true;
  if (tag === 'button' || tag === 'select' || tag === 'textarea') return !matches(element, ':disabled');
  if (tag === 'input') return inputType(element) !== 'hidden' && !matches(element, ':disabled');
  if (tag === 'a' || tag === 'area') return has(element, 'href');
  if (tag === 'svg:a') return svgHref(element) !== null;
  if (tag === 'summary') return isSummary(element);
  if (tag === 'iframe') return true;
  if ((tag === 'audio' || tag === 'video') && has(element, 'controls')) return true;
  return isEditingHost(element);
}

function isEditingHost(element) {
  const written = attribute(element, 'contenteditable');
  return written !== null && /^(|true|plaintext-only)$/i.test(written.trim());
}

// A document that is edited as a whole, as rich editors in a frame are.
function isEditedPage(element) {
  const tag = tagOf(element);
  if (tag !== 'body' && tag !== 'html') return false;
  return isEditingHost(element) || (tag === 'body' && getter(Document.prototype, 'designMode').call(documentOf(element)) === 'on');
}

function isSummary(element) {
  const up = parentOf(element);
  if (!up || kind(up) !== ELEMENT || tagOf(up) !== 'details') return false;
  for (let child = first(up); child; child = next(child)) {
    if (kind(child) === ELEMENT && tagOf(child) === 'summary') return child === element;
  }
  return false;
}

// ARIA role of the element, '' for one that is none (presentational) and 'generic' for a plain box.
function roleOf(element) {
  let role = roles.get(element);
  if (role === undefined) {
    roles.set(element, 'generic');
    role = computeRole(element);
    roles.set(element, role);
  }
  return role;
}

function computeRole(element) {
  const tag = tagOf(element);
  const written = attribute(element, 'role');
  if (written) {
    for (const token of words(written.toLowerCase())) {
      if (!ROLES.has(token) && !/^(doc|graphics)-[a-z]+$/.test(token)) continue;
      if (token === 'none' || token === 'presentation') {
        if (isFocusable(element) || GLOBAL.some((name) => fold(attribute(element, name) || ''))) break;
        return '';
      }
      if (token in NEEDS && !hasContext(element, NEEDS[token])) {
        if (token === 'option' && tag === 'option') return 'option';
        break;
      }
      if ((token === 'form' || token === 'region') && !isNamedByAuthor(element)) {
        if (token === 'region' && tag === 'section') return 'generic';
        break;
      }
      return refine(element, token);
    }
  }
  return nativeRole(element, tag);
}

function refine(element, token) {
  if (token === 'img') return 'image';
  if (token === 'directory') return 'list';
  return token;
}

function isNamedByAuthor(element) {
  if (fold(attribute(element, 'aria-label') || '')) return true;
  if (words(attribute(element, 'aria-labelledby')).some((id) => byId(rootOf(element), id))) return true;
  return !!fold(attribute(element, 'title') || '');
}

function hasContext(element, allowed) {
  let steps = 0;
  for (let up = owner(element) || flatParent(element); up && steps < 64; up = owner(up) || flatParent(up), steps++) {
    const role = roleOf(up);
    if (allowed.includes(role)) return true;
    if (role !== 'generic' && role !== '') return false;
  }
  return false;
}

function nativeRole(element, tag) {
  switch (tag) {
    case 'a':
    case 'area':
      return has(element, 'href') ? 'link' : 'generic';
    case 'svg:a':
      return svgHref(element) !== null ? 'link' : 'generic';
    case 'input': {
      const type = inputType(element);
      if (LIST_INPUTS.has(type) && has(element, 'list')) {
        const list = byId(rootOf(element), attribute(element, 'list'));
        if (list && tagOf(list) === 'datalist') return 'combobox';
      }
      if (type in INPUT_ROLES) return INPUT_ROLES[type];
      return 'textbox';
    }
    case 'select':
      return has(element, 'multiple') || Number(attribute(element, 'size')) > 1 ? 'listbox' : 'combobox';
    case 'img':
      return imageRole(element);
    case 'svg':
      return parentOf(element) && (svgTitle(element) || fold(attribute(element, 'aria-label') || '') || words(attribute(element, 'aria-labelledby')).length) ? 'image' : 'generic';
    case 'header':
      return inSection(element) ? 'generic' : 'banner';
    case 'footer':
      return inSection(element) ? 'generic' : 'contentinfo';
    case 'aside':
      return isNamedByAuthor(element) || !inContent(element) ? 'complementary' : 'generic';
    case 'section':
      return isNamedByAuthor(element) ? 'region' : 'generic';
    case 'summary':
      return isSummary(element) ? 'button' : 'generic';
    case 'li': {
      // An item of a list that is used for something else is nothing of its own.
      const up = flatParent(element);
      if (!up || !/^(ul|ol|menu)$/.test(tagOf(up))) return 'listitem';
      return roleOf(up) !== 'list' || /^\s*(none|presentation)\b/i.test(attribute(up, 'role') || '') ? '' : 'listitem';
    }
    case 'table':
      return 'table';
    case 'thead':
    case 'tbody':
    case 'tfoot':
      return tableOf(element) ? 'rowgroup' : 'generic';
    case 'tr':
      return tableOf(element) ? 'row' : 'generic';
    case 'td':
      return cellRole(element, 'cell');
    case 'th':
      return headerRole(element);
    case 'iframe':
    case 'frame':
      return 'iframe';
    case 'video':
    case 'audio':
      return has(element, 'controls') ? 'group' : 'generic';
    default:
      return TAG_ROLES[tag] || 'generic';
  }
}

function imageRole(element) {
  const alt = attribute(element, 'alt');
  if (alt === '' && !fold(attribute(element, 'aria-label') || '') && !words(attribute(element, 'aria-labelledby')).length && !has(element, 'tabindex') && !fold(attribute(element, 'title') || '')) return '';
  return 'image';
}

function svgTitle(element) {
  for (let child = first(element); child; child = next(child)) {
    if (kind(child) === ELEMENT && tagOf(child) === 'title') return fold(TEXT_CONTENT.call(child) || '');
  }
  return '';
}

// HTML-AAM: header and footer are landmarks only outside sectioning content and sectioning roles.
function inSection(element) {
  for (let up = flatParent(element); up; up = flatParent(up)) {
    if (documentOf(up) !== documentOf(element)) return false;
    const tag = tagOf(up);
    const written = words((attribute(up, 'role') || '').toLowerCase()).find((token) => ROLES.has(token));
    if (written ? SECTION_ROLES.has(written) : SECTIONING.has(tag)) return true;
  }
  return false;
}

// HTML-AAM: an aside inside sectioning content is a landmark only with a name; in main it is one.
function inContent(element) {
  for (let up = flatParent(element); up && documentOf(up) === documentOf(element); up = flatParent(up)) {
    const tag = tagOf(up);
    if (tag !== 'main' && SECTIONING.has(tag)) return true;
  }
  return false;
}

// The table element a row or cell belongs to, unless the table is presentational.
function tableOf(element) {
  for (let up = flatParent(element), steps = 0; up && steps < 4; up = flatParent(up), steps++) {
    if (tagOf(up) === 'table') return roleOf(up) === '' ? null : up;
  }
  return null;
}
function cellRole(element, plain) {
  const table = tableOf(element);
  if (!table) return 'generic';
  const role = roleOf(table);
  return role === 'grid' || role === 'treegrid' ? 'gridcell' : plain;
}
function headerRole(element) {
  if (!tableOf(element)) return 'generic';
  const scope = (attribute(element, 'scope') || '').toLowerCase();
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  const row = parentOf(element);
  let cells = 0;
  for (let cell = row && first(row); cell; cell = next(cell)) {
    if (kind(cell) !== ELEMENT) continue;
    if (tagOf(cell) === 'td') cells++;
  }
  // Only a row that also holds plain cells has row headers.
  return cells > 0 ? 'rowheader' : 'columnheader';
}

// aria-owns: an owned element is moved under its owner (WAI-ARIA 1.2 "aria-owns"), first owner wins.
let owners = null;
function owner(element) {
  return owners ? owners.get(element) || null : null;
}
function collectOwners(document) {
  for (const element of all(document, '[aria-owns]')) {
    for (const id of words(attribute(element, 'aria-owns'))) {
      const owned = byId(rootOf(element), id);
      if (owned && owned !== element && !contains(owned, element)) {
        owners = owners || new Map();
        if (!owners.has(owned)) owners.set(owned, element);
      }
    }
  }
}

function forgetRoles() {
  roles = new Map();
  owners = null;
}
