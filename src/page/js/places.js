// Finding by text, containment, scrolling a view, dropping by events.

// The innermost visible elements whose own text is the wanted one, lifted to what can be acted on.
function textTargets(wanted) {
  const want = fold(wanted);
  const hits = [];
  for (const element of everyElement(document)) {
    const tag = tagOf(element);
    if (tag === 'script' || tag === 'style' || tag === 'template' || tag === 'noscript' || tag === 'head' || tag === 'title') continue;
    const text = fold(TEXT_CONTENT.call(element) || '');
    if (text !== want || !CHECK_VISIBILITY.call(element, { visibilityProperty: true })) continue;
    hits.push(element);
  }
  // An ancestor with the same text adds nothing.
  const inner = hits.filter((element) => !hits.some((other) => other !== element && inside(element, other)));
  return [...new Set(inner.map(actionable))].slice(0, 1000);
}
function actionable(element) {
  for (let up = element, steps = 0; up && kind(up) === ELEMENT && steps < 6; up = flatParent(up), steps++) {
    if (CONTROLS.has(roleOf(up)) || isFocusable(up)) return up;
  }
  return element;
}

function queryText(generation, wanted) {
  if (generation !== store.generation) return JSON.stringify({ reason: 'stale' });
  forgetRoles();
  forgetNames();
  forgetStyles();
  const want = fold(wanted);
  const found = textTargets(wanted).map((target) => {
    let index = store.elements.indexOf(target);
    if (index < 0) {
      index = store.elements.length;
      store.elements.push(target);
    }
    return { index, role: roleOf(target) || 'generic', name: clip(nameOf(target).text || want, LIMITS.name), tag: tagOf(target) };
  });
  return pack({ found });
}

function containsNode(generation, outer, inner) {
  const a = held(generation, outer).element;
  const b = held(generation, inner).element;
  return !!a && !!b && inside(a, b);
}

// Scrolls an element's box, or the page (index null), by shares of its view or to its ends; moved?
function scrollView(generation, index, dx, dy) {
  let box = index === null ? null : held(generation, index).element;
  if (index !== null && !box) return false;
  // The element itself where it scrolls, else the nearest box around it that does.
  for (let up = box; up; up = flatParent(up)) {
    if (kind(up) === ELEMENT && (up.scrollHeight > up.clientHeight + 4 || up.scrollWidth > up.clientWidth + 4)) {
      const style = window.getComputedStyle(up);
      if (/auto|scroll|overlay/.test(style.overflowY + style.overflowX)) {
        box = up;
        break;
      }
    }
    if (!flatParent(up)) box = null;
  }
  box = box || getter(Document.prototype, 'scrollingElement').call(document) || document.documentElement;
  const to = (step, at, view, all_) => (step === 'end' ? all_ : step === 'start' ? 0 : at + view * step);
  const before = [box.scrollTop, box.scrollLeft];
  Element.prototype.scrollTo.call(box, {
    top: to(dy, box.scrollTop, box.clientHeight, box.scrollHeight),
    left: to(dx, box.scrollLeft, box.clientWidth, box.scrollWidth),
    behavior: 'instant',
  });
  return box.scrollTop !== before[0] || box.scrollLeft !== before[1];
}

// HTML5 drag and drop by its events, for browsers whose pointer starts none. Did anything take it?
function dragDrop(source, target) {
  const view = windowOf(source) || window;
  const data = new view.DataTransfer();
  const send = (element, type) => {
    const rect = rectOf(element);
    const event = new view.DragEvent(type, {
      bubbles: true, cancelable: true, composed: true, dataTransfer: data,
      clientX: rect.x + rect.width / 2, clientY: rect.y + rect.height / 2,
    });
    return !EventTarget.prototype.dispatchEvent.call(element, event);
  };
  send(source, 'dragstart');
  send(target, 'dragenter');
  const taken = send(target, 'dragover');
  if (taken) send(target, 'drop');
  send(source, 'dragend');
  return taken;
}
Object.assign(globalThis.__rehearsal, { queryText, containsNode, scrollView, dragDrop });

// The origin's local storage as pairs, and back. A page without storage has none.
function storageEntries() {
  try {
    return JSON.stringify(Object.entries(window.localStorage));
  } catch {
    return '[]';
  }
}
function setStorage(entries) {
  try {
    for (const [key, value] of entries) window.localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}
Object.assign(globalThis.__rehearsal, { storageEntries, setStorage });
