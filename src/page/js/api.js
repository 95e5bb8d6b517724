// What the Rust side may call. Answers are JSON strings or plain values, except where an element or a
// window is what is wanted: BiDi turns those into references.
globalThis.__rehearsal = {
  version: VERSION,
  read, frameWindows, suspects, adopt, customs, adoptInternals,
  prepare, throughFrame, element, elements, windowAt, scrollers, scrollBy, scrollTo, scrollIntoView, quietSince, settled, twoFrames, clickLost,
  focus, hasFocus, insertText, enter, leaveField, finishField, selectText, setValue, readBack, selectOption, checkedState, formFacts, downloadFacts, submitterOf, protect, heldFields, clearProtected,
  rectangles, contentOffset, pose, release, cover, guard,
  query, extract, fingerprint, probe, signInButton, holdBack,
};
