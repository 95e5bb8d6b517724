// Safe access to the tree.
//
// The sandbox has its own prototypes, so nothing a page overrides reaches us. What does reach us is
// DOM clobbering: `<form><input name=children>` changes what `form.children` answers even here,
// because named properties belong to the object and not to a realm. Every walk and every attribute
// read therefore goes through the prototype's own getter.

const getter = (proto, name) => Object.getOwnPropertyDescriptor(proto, name).get;
const setter = (proto, name) => Object.getOwnPropertyDescriptor(proto, name).set;

const GET_ATTRIBUTE = Element.prototype.getAttribute;
const HAS_ATTRIBUTE = Element.prototype.hasAttribute;
const HAS_ATTRIBUTES = Element.prototype.hasAttributes;
const ATTRIBUTE_NAMES = Element.prototype.getAttributeNames;
const FIRST_CHILD = getter(Node.prototype, 'firstChild');
const FIRST_ELEMENT = getter(Element.prototype, 'firstElementChild');
const NEXT_SIBLING = getter(Node.prototype, 'nextSibling');
const PARENT_NODE = getter(Node.prototype, 'parentNode');
const NODE_TYPE = getter(Node.prototype, 'nodeType');
const OWNER_DOCUMENT = getter(Node.prototype, 'ownerDocument');
const IS_CONNECTED = getter(Node.prototype, 'isConnected');
const ROOT_NODE = Node.prototype.getRootNode;
const CONTAINS = Node.prototype.contains;
const NAMESPACE = getter(Element.prototype, 'namespaceURI');
const LOCAL_NAME = getter(Element.prototype, 'localName');
const SHADOW_ROOT = getter(Element.prototype, 'shadowRoot');
const ASSIGNED_SLOT = getter(Element.prototype, 'assignedSlot');
const MATCHES = Element.prototype.matches;
const CLOSEST = Element.prototype.closest;
const QUERY_ALL = Element.prototype.querySelectorAll;
const RECT = Element.prototype.getBoundingClientRect;
const CHECK_VISIBILITY = Element.prototype.checkVisibility;
const TEXT_CONTENT = getter(Node.prototype, 'textContent');
const TEXT_DATA = getter(CharacterData.prototype, 'data');
const DEFAULT_VIEW = getter(Document.prototype, 'defaultView');

// A read asks each element for some thirty attributes it mostly does not have. While it attends to one,
// the names it does have are known; nothing changes within the pass, and nothing is attended outside it.
const NONE = [];
let attended = null;
let attendedNames = NONE;
function attend(element) {
  attended = element;
  attendedNames = element && HAS_ATTRIBUTES.call(element) ? ATTRIBUTE_NAMES.call(element) : NONE;
}
// What custom elements say of themselves by ElementInternals: attributes nobody wrote, told by the caller; any
// written one wins. Null while there is none.
let internals = null;
const unwritten = (element, name) => internals?.get(element)?.[name] ?? null;
function attribute(element, name) {
  const written = element === attended && !attendedNames.includes(name) ? null : GET_ATTRIBUTE.call(element, name);
  return written === null && internals !== null ? unwritten(element, name) : written;
}
function has(element, name) {
  const written = element === attended ? attendedNames.includes(name) : HAS_ATTRIBUTE.call(element, name);
  return written || (internals !== null && unwritten(element, name) !== null);
}
const first = (node) => FIRST_CHILD.call(node);
const next = (node) => NEXT_SIBLING.call(node);
const parentOf = (node) => PARENT_NODE.call(node);
const kind = (node) => NODE_TYPE.call(node);
// SVG and MathML may use HTML's names (`<svg><a>`), but their elements have none of HTML's properties.
const TYPED = new Set(['a', 'area', 'button', 'form', 'frame', 'iframe', 'input', 'label', 'meter', 'object', 'option',
  'progress', 'select', 'slot', 'textarea']);
const tagOf = (element) => {
  const tag = LOCAL_NAME.call(element);
  return TYPED.has(tag) && NAMESPACE.call(element) !== 'http://www.w3.org/1999/xhtml' ? `svg:${tag}` : tag;
};
const svgHref = (element) => attribute(element, 'href') ?? attribute(element, 'xlink:href');
const documentOf = (node) => OWNER_DOCUMENT.call(node) || node;
const connected = (node) => IS_CONNECTED.call(node);
const rootOf = (node) => ROOT_NODE.call(node);
const contains = (outer, inner) => CONTAINS.call(outer, inner);
const matches = (element, css) => MATCHES.call(element, css);
const closest = (element, css) => CLOSEST.call(element, css);
const rectOf = (element) => RECT.call(element);
// An area of an image map has no box of its own: its part of the image, as wide as its shape.
const isCircle = (area) => /^circ/i.test(attribute(area, 'shape') || '');
const coordsOf = (area) => (attribute(area, 'coords') || '').split(/[\s,;]+/).filter(Boolean).map(Number);
function areaBox(area) {
  const map = closest(area, 'map');
  const name = map && (attribute(map, 'name') || attribute(map, 'id'));
  const image = name && [...all(rootOf(area), 'img[usemap]')].find((one) => attribute(one, 'usemap') === `#${name}`);
  if (!image || !CHECK_VISIBILITY.call(image, { visibilityProperty: true })) return null;
  const whole = rectOf(image);
  const at = coordsOf(area);
  if (!at.length || at.some(Number.isNaN)) return { image, box: whole };
  const [across, down] = isCircle(area)
    ? [[at[0] - at[2], at[0] + at[2]], [at[1] - at[2], at[1] + at[2]]]
    : [at.filter((_, i) => i % 2 === 0), at.filter((_, i) => i % 2 === 1)];
  const [left, top] = [Math.min(...across), Math.min(...down)];
  return { image, box: new DOMRect(whole.x + left, whole.y + top, Math.max(...across) - left, Math.max(...down) - top) };
}
// The area of an image that a point of the viewport falls into.
function areaAt(image, x, y) {
  const named = attribute(image, 'usemap');
  if (!named) return null;
  const mine = (map) => [attribute(map, 'name'), attribute(map, 'id')].some((name) => name && `#${name}` === named);
  const map = [...all(rootOf(image), 'map')].find(mine);
  const whole = rectOf(image);
  return (map && [...all(map, 'area')].find((area) => areaHolds(area, x - whole.x, y - whole.y))) || null;
}
function areaHolds(area, x, y) {
  const at = coordsOf(area);
  if (!at.length || at.some(Number.isNaN)) return /^def/i.test(attribute(area, 'shape') || '');
  if (isCircle(area)) return Math.hypot(x - at[0], y - at[1]) <= at[2];
  const corners = [];
  for (let i = 0; i + 1 < at.length; i += 2) corners.push([at[i], at[i + 1]]);
  if (corners.length === 2) {
    const [[left, top], [right, bottom]] = corners;
    return x >= Math.min(left, right) && x <= Math.max(left, right) && y >= Math.min(top, bottom) && y <= Math.max(top, bottom);
  }
  let inside = false;
  corners.forEach(([ax, ay], i) => {
    const [bx, by] = corners[(i + 1) % corners.length];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  });
  return inside;
}

const windowOf = (node) => DEFAULT_VIEW.call(documentOf(node));
const ELEMENT = 1;
const TEXT = 3;
const FRAGMENT = 11;

// `querySelectorAll` of the prototype that fits: a document can be clobbered, a root can't.
function all(root, css) {
  const type = kind(root);
  if (type === 9) return Document.prototype.querySelectorAll.call(root, css);
  if (type === FRAGMENT) return DocumentFragment.prototype.querySelectorAll.call(root, css);
  return QUERY_ALL.call(root, css);
}

// An id in the element's own root, so that a shadow tree never takes a label from outside
// (failure 018). A hidden or duplicate id resolves to the first in tree order.
function byId(root, id) {
  if (!id) return null;
  const type = kind(root);
  if (type === 9) return Document.prototype.getElementById.call(root, id);
  if (type === FRAGMENT) return DocumentFragment.prototype.getElementById.call(root, id);
  return null;
}

// Closed roots handed in by the caller (BiDi can name them, scripts can't find them).
const closedRoots = new WeakMap();
const shadowOf = (element) => SHADOW_ROOT.call(element) || closedRoots.get(element) || null;

// Document of a frame element when this realm may look into it, else null.
function frameDocument(element) {
  try {
    const tag = tagOf(element);
    if (tag === 'iframe') return getter(HTMLIFrameElement.prototype, 'contentDocument').call(element);
    if (tag === 'frame') return getter(HTMLFrameElement.prototype, 'contentDocument').call(element);
    if (tag === 'object') return getter(HTMLObjectElement.prototype, 'contentDocument').call(element);
  } catch {}
  return null;
}
function frameWindow(element) {
  const tag = tagOf(element);
  if (tag === 'iframe') return getter(HTMLIFrameElement.prototype, 'contentWindow').call(element);
  if (tag === 'frame') return getter(HTMLFrameElement.prototype, 'contentWindow').call(element);
  if (tag === 'object') return getter(HTMLObjectElement.prototype, 'contentWindow').call(element);
  return null;
}
const frameElementOf = (document) => {
  const view = DEFAULT_VIEW.call(document);
  try {
    return view && view !== window ? view.frameElement : null;
  } catch {
    return null;
  }
};

// First child in the flattened tree, then `flatNext` for the siblings; a slot shows what is assigned.
function flatChildren(element) {
  const shadow = shadowOf(element);
  if (tagOf(element) === 'slot') {
    const assigned = HTMLSlotElement.prototype.assignedNodes.call(element);
    if (assigned.length) return assigned;
  }
  const out = [];
  for (let child = first(shadow || element); child; child = next(child)) out.push(child);
  return out;
}

// Parent in the flattened tree, across shadow roots and same-origin frames.
function flatParent(node) {
  const slot = kind(node) === ELEMENT ? ASSIGNED_SLOT.call(node) : null;
  if (slot) return slot;
  const up = parentOf(node);
  if (!up) return null;
  const type = kind(up);
  if (type === FRAGMENT) return up.host || null;
  if (type === 9) return frameElementOf(up);
  return up;
}

// Most text is folded already: asking costs less than a copy.
const UNFOLDED = /[^\S ]|\s\s|^\s|\s$/;
const fold = (text) => (UNFOLDED.test(text) ? text.replace(/\s+/g, ' ').trim() : text);
// Put between texts of two nodes that run together in what reads as one word: whoever looks for a
// secret has to know that something ended there. Nobody sees it; it is taken out again outside.
const SEAM = '\u2060';
const wordy = (c) => (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c > '\x7f' && !/\s/.test(c));
const seam = (before, after) => (before && after && wordy(before[before.length - 1]) && wordy(after[0]) ? SEAM : '');
const words = (text) => (text ? text.split(/\s+/).filter(Boolean) : NONE);
function truthy(element, name) {
  const written = attribute(element, name);
  return written !== null && (written === 'true' || written.trim().toLowerCase() === 'true');
}
