(() => {
  "use strict";
  const one = (id) => document.getElementById(id);
  const cards = [...document.querySelectorAll(".card")];
  const folders = [...document.querySelectorAll(".folder")];
  const chips = [...document.querySelectorAll(".chip")];
  const find = one("find");
  let words = null;
  let status = "";

  // What a search looks at: the summary of a card, read once, when somebody searches.
  const text = (at) => {
    words ??= cards.map((card) => card.firstElementChild.textContent.toLowerCase());
    return words[at];
  };

  const filter = () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    cards.forEach((card, at) => {
      const fits = (!status || card.dataset.key.split(" ").includes(status))
        && wanted.every((word) => text(at).includes(word));
      card.hidden = !fits;
      shown += fits;
    });
    folders.forEach((folder) => {
      folder.hidden = !folder.querySelector(".card:not([hidden])");
    });
    const of = shown === cards.length ? "" : ` of ${cards.length}`;
    one("shown").textContent = `${shown}${of} scenario${cards.length === 1 ? "" : "s"}`;
    one("empty").hidden = shown > 0 || cards.length === 0;
  };

  const choose = (key) => {
    status = key;
    chips.forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.show === key)));
    filter();
  };

  chips.forEach((chip) => chip.addEventListener("click", () => {
    choose(chip.dataset.show === status ? "" : chip.dataset.show);
  }));
  let soon = 0;
  find.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(filter, 80);
  });
  one("clear").addEventListener("click", () => {
    find.value = "";
    choose("");
    find.focus();
  });
  one("open-all").addEventListener("click", () => {
    cards.filter((card) => !card.hidden).forEach((card) => { card.open = true; });
  });
  one("close-all").addEventListener("click", () => cards.forEach((card) => { card.open = false; }));

  const go = (by) => {
    const shown = cards.filter((card) => !card.hidden);
    const here = shown.indexOf(document.activeElement?.closest(".card"));
    const next = shown[Math.min(shown.length - 1, Math.max(0, here < 0 ? 0 : here + by))];
    next?.firstElementChild.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, dialog");
    if (event.key === "Escape" && event.target === find) {
      find.value = "";
      filter();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      "/": () => find.focus(),
      j: () => go(1),
      k: () => go(-1),
    };
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  // Pictures appear with their card: thousands of waiting ones would slow the page. Until then,
  // and without script, each is a link with its description.
  const fill = (card) => card.querySelectorAll("a.shot:not(.full)").forEach((shot) => {
    const [width, height] = shot.dataset.size.split(" ");
    const picture = new Image(width, height);
    picture.loading = "lazy";
    picture.decoding = "async";
    picture.alt = shot.textContent;
    picture.src = shot.href;
    shot.replaceChildren(picture);
    shot.classList.add("full");
    shot.style.aspectRatio = `${width} / ${height}`;
    if (shot.dataset.target) {
      const target = document.createElement("span");
      target.className = "target";
      target.style.cssText = shot.dataset.target;
      shot.append(target);
    }
  });

  // A link to a scenario opens it, whatever is filtered.
  const arrive = () => {
    const target = one(location.hash.slice(1));
    if (!target) return;
    if (target.hidden) choose("");
    if (target.matches(".card")) target.open = true;
    target.scrollIntoView();
    // Once more when what lies above has its real height.
    requestAnimationFrame(() => requestAnimationFrame(() => target.scrollIntoView()));
  };
  addEventListener("hashchange", arrive);
  arrive();
  cards.filter((card) => card.open).forEach(fill);
  cards.forEach((card) => card.addEventListener("toggle", () => {
    if (card.open) fill(card);
    if (card.open && card.contains(document.activeElement)) history.replaceState(null, "", `#${card.id}`);
  }));

  const links = new Map([...document.querySelectorAll(".folders a")].map((a) => [a.hash.slice(1), a]));
  if (links.size && "IntersectionObserver" in window) {
    const seen = new Set();
    const watch = new IntersectionObserver((entries) => {
      entries.forEach((entry) => seen[entry.isIntersecting ? "add" : "delete"](entry.target));
      const first = folders.find((folder) => seen.has(folder));
      links.forEach((a) => a.removeAttribute("aria-current"));
      if (first) links.get(first.id)?.setAttribute("aria-current", "true");
    }, { rootMargin: "-10% 0px -60% 0px" });
    folders.forEach((folder) => watch.observe(folder));
  }

  const large = one("large");
  let shots = [];
  let at = 0;
  const show = (to) => {
    at = Math.min(shots.length - 1, Math.max(0, to));
    const from = shots[at];
    const picture = large.querySelector("img");
    picture.src = from.href;
    picture.alt = from.firstElementChild.alt;
    const mark = (name, css) => {
      const at = large.querySelector(`.${name}`);
      at.hidden = !css;
      at.style.cssText = css ?? "";
    };
    mark("target", from.dataset.target);
    mark("point", from.dataset.point);
    large.querySelector("figcaption").textContent = `${picture.alt} — ${from.dataset.caption}`;
    large.querySelector('[data-move="-1"]').disabled = at === 0;
    large.querySelector('[data-move="1"]').disabled = at === shots.length - 1;
  };
  document.addEventListener("click", (event) => {
    const shot = event.target.closest("a.shot");
    if (!shot || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    fill(shot.closest(".card"));
    shots = [...shot.closest(".steps, .story").querySelectorAll("a.shot")];
    show(shots.indexOf(shot));
    large.showModal();
    large.querySelector('[data-move="0"]').focus();
  });
  large.addEventListener("click", (event) => {
    const move = event.target.closest("[data-move]")?.dataset.move;
    if (move === "0" || event.target === large) large.close();
    else if (move) show(at + Number(move));
  });
  large.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(at - 1);
    if (event.key === "ArrowRight") show(at + 1);
  });
})();
