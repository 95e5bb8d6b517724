// Computed styles, read once per element and read.

let styles = new Map();
let pseudoSheets = new Map();

// { block, shown, drawn, ... }: `shown` false means no box (display none), `drawn` false means
// visibility hidden (children may override it).
function styleOf(element) {
  let known = styles.get(element);
  if (known) return known;
  const view = windowOf(element) || window;
  const computed = view.getComputedStyle(element);
  const display = computed.display;
  const inline = display === 'inline' || display === 'contents' || display === 'ruby' || display === 'ruby-text';
  known = {
    display,
    shown: display !== 'none' && display !== '',
    drawn: computed.visibility === 'visible',
    // Starts a new line of text.
    block: !inline && display.slice(0, 6) !== 'inline' && display !== 'none',
    // Flows with text but stands apart (a button, an inline-block).
    apart: !inline,
    transform: computed.textTransform,
    locked: !inline && computed.contentVisibility === 'hidden',
    // Nothing in it can be read, whatever its children say of themselves.
    faint: Number(computed.opacity) < 0.05,
    // Its own words can't be read: no size, no colour, pushed out of its box.
    blank: parseFloat(computed.fontSize) < 3 || parseFloat(computed.textIndent) < -500 || colourless(computed),
    placed: computed.position === 'absolute' || computed.position === 'fixed',
  };
  styles.set(element, known);
  return known;
}

// Letters without colour, or in the very colour of their own box. What an ancestor paints behind
// them is not asked: white letters on a picture are read well.
function colourless(computed) {
  const clipped = computed.backgroundClip === 'text' || computed.webkitBackgroundClip === 'text';
  if (clipped) return false;
  const ink = computed.webkitTextFillColor || computed.color;
  return /^rgba\(.*, ?0\)$|\/ ?0\)$/.test(ink) || ink === computed.backgroundColor && computed.backgroundImage === 'none';
}

// Does any sheet of this root write ::before or ::after? Asked once per root, because reading the
// pseudo-element style of every element would double the cost of a read.
function hasPseudo(root) {
  let answer = pseudoSheets.get(root);
  if (answer !== undefined) return answer;
  const sheets = sheetsOf(root);
  answer = !sheets || sheets.some(sheetHasPseudo);
  pseudoSheets.set(root, answer);
  return answer;
}

// `null` where the root doesn't tell.
function sheetsOf(root) {
  try {
    const source = kind(root) === 9 ? Document.prototype : ShadowRoot.prototype;
    return [...getter(source, 'styleSheets').call(root), ...getter(source, 'adoptedStyleSheets').call(root)];
  } catch {
    return null;
  }
}

// Elements into which a sheet of this root may write more than an icon's letter.
function styledElements(root) {
  if (!hasPseudo(root)) return [];
  const sheets = sheetsOf(root);
  const selectors = [];
  let readable = !!sheets;
  for (const sheet of sheets || []) readable = pseudoSelectors(sheet, selectors) && readable;
  const found = new Set();
  for (const selector of selectors) {
    let elements;
    try {
      elements = all(root, selector);
    } catch {
      elements = all(root, '*');
    }
    for (const element of elements) found.add(element);
  }
  // What is written by a sheet nobody may read comes from an attribute, or it would be no secret there.
  if (!readable) for (const element of all(root, '*')) if (ATTRIBUTE_NAMES.call(element).some(isWords)) found.add(element);
  return found;
}
const isWords = (name) => name.startsWith('data-') || name === 'title' || name === 'aria-label';
// Adds the selectors of what writes text; `false`: not all of it could be read.
function pseudoSelectors(holder, out) {
  let rules;
  try {
    rules = holder.cssRules;
  } catch {
    return false;
  }
  let readable = true;
  for (const rule of rules || []) {
    const selector = rule.selectorText || '';
    const written = PSEUDO.test(selector) ? rule.style.content : '';
    // A rule inside a rule names its element relative to the outer one: then any element may be it.
    if (writesWords(written)) out.push(selector.includes('&') ? '*' : selector.replace(BARE_PSEUDO, '$1*').replace(EVERY_PSEUDO, ''));
    if (rule.styleSheet && !pseudoSelectors(rule.styleSheet, out)) readable = false;
    if (rule.cssRules && rule.cssRules.length && !pseudoSelectors(rule, out)) readable = false;
  }
  return readable;
}
const PSEUDO = /:(before|after)\b/;
const BARE_PSEUDO = /(^|[\s>+~,(])::?(?:before|after)\b/g;
const EVERY_PSEUDO = /::?(?:before|after)\b/g;
const writesWords = (content) => !!content && (/(attr|var)\(/.test(content) || quoted(content, null).length > 3);

const sheetAnswers = new WeakMap();
function sheetHasPseudo(sheet) {
  let rules;
  try {
    rules = sheet.cssRules;
  } catch {
    return true;
  }
  const known = sheetAnswers.get(sheet);
  if (known && known.count === rules.length && !known.small) return known.answer;
  const answer = rulesHavePseudo(rules);
  sheetAnswers.set(sheet, { answer, count: rules.length, small: rules.length < 50 });
  return answer;
}
function rulesHavePseudo(rules) {
  for (const rule of rules) {
    if (rule.selectorText && PSEUDO.test(rule.selectorText)) return true;
    if (rule.styleSheet && sheetHasPseudo(rule.styleSheet)) return true;
    if (rule.cssRules && rule.cssRules.length && rulesHavePseudo(rule.cssRules)) return true;
  }
  return false;
}

// Text of ::before / ::after: strings and attr() (which not every engine computes), alternative text
// after "/" instead of the rest unless it is what is seen that counts (css-content-3), counters and
// pictures left out.
function pseudoText(element, which, seen) {
  if (tagOf(element) !== 'q' && !hasPseudo(rootOf(element))) return '';
  const view = windowOf(element) || window;
  const computed = view.getComputedStyle(element, which);
  const content = computed.content;
  if (!content || content === 'none' || content === 'normal') return '';
  if (computed.display === 'none' || computed.visibility !== 'visible') return '';
  const parts = splitAlternative(content);
  const text = parts.alternative === null || seen ? quoted(parts.main, element) : `${quoted(parts.alternative, element)} `;
  return computed.display.slice(0, 6) === 'inline' ? text : ` ${text} `;
}
function splitAlternative(content) {
  let inside = false;
  for (let i = 0; i < content.length; i++) {
    const c = content[i];
    if (c === '\\') i++;
    else if (c === '"') inside = !inside;
    else if (c === '/' && !inside && content[i - 1] === ' ')
      return { main: content.slice(0, i), alternative: content.slice(i + 1) };
  }
  return { main: content, alternative: null };
}
function quoted(content, element) {
  let out = '';
  for (const match of content.matchAll(/"((?:[^"\\]|\\.)*)"|open-quote|close-quote|attr\(\s*([-\w]+)[^)]*\)/g)) {
    if (match[2] !== undefined) out += attribute(element, match[2]) || '';
    else if (match[1] === undefined) out += match[0] === 'open-quote' ? '“' : '”';
    else
      out += match[1].replace(/\\([0-9a-f]{1,6})\s?|\\(.)/gi, (_, hex, plain) =>
        hex ? String.fromCodePoint(Math.min(parseInt(hex, 16), 0x10ffff)) : plain
      );
  }
  return out;
}

// Applied to rendered text as the eye sees it.
function transformed(text, how) {
  if (how === 'uppercase') return text.toUpperCase();
  if (how === 'lowercase') return text.toLowerCase();
  if (how === 'capitalize') return text.replace(/(^|[\s\u00a0([{"'“‘-])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase());
  return text;
}

function forgetStyles() {
  styles = new Map();
  pseudoSheets = new Map();
}
