// Sign-in forms (security.md 2.3): which field takes what, and what sends it. Only booleans, counts,
// positions and fixed words leave: the probe is the one read allowed while a secret is typed.

// Words in what a person reads on a control or its author called it. Accents and case are folded away;
// a camel hump, a dash or a dot is a space.
const spoken = (text) =>
  (text || '').replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
const phrases = (list) => list.split(/\s*,\s*/).map(spoken);
// Scripts without spaces have no word borders to hold to.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const says = (text, list) => list.some((phrase) => (UNSPACED.test(phrase) ? text.includes(phrase) : ` ${text} `.includes(` ${phrase} `)));

const USER_NAME = phrases(
  `user name, username, user id, userid, login name, login id, loginname, loginid, logon name, nickname, j username,
   nome utente, benutzername, anmeldename, nom d utilisateur, identifiant, nombre de usuario, nome de usuario,
   gebruikersnaam, anvandarnamn, brukernavn, brugernavn, nazwa uzytkownika, имя пользователя, логин, 用户名, ユーザー名`);
const USER = phrases('user, usr, uname, uid, login, logon, utente, benutzer, utilisateur, usuario, gebruiker');
const MAIL = phrases('e mail, email, mail, e mail address, correo, courriel, posta elettronica, почта, 邮箱, メール');
const NUMBER = phrases('account, member, customer, client, phone, mobile, telephone, telefono, telefon, handy, konto, numero, id');
const SEARCH = phrases('search, find, query, cerca, suche, suchen, rechercher, recherche, buscar, zoeken');
// A field that asks for something else than who signs in.
const OTHER = phrases(
  `company, firm, tenant, organisation, organization, org, workspace, team, domain, subdomain, department, branch, site,
   store, shop, server, realm, database, institution, school, coupon, voucher, promo, first name, last name, surname,
   full name, address, street, city, zip, postcode, country, captcha, azienda, ditta, societa, firma, mandant,
   unternehmen, entreprise, societe, empresa, bedrijf`);
const CODE = phrases(
  `otp, totp, mfa, 2fa, tfa, two factor code, two factor token, second factor, one time code, one time password,
   one time passcode, one time pin, onetime code, onetime password, verification code, verification pin,
   authentication code, authenticator code, authentication token, auth code, security code, confirmation code,
   login code, sign in code, sms code, digit code, passcode, codice di verifica,
   codice di sicurezza, codice otp, codice di autenticazione, bestatigungscode, sicherheitscode, einmalcode,
   einmalpasswort, code de verification, code de securite, code d authentification, code de confirmation,
   codigo de verificacion, codigo de seguridad, codigo de verificacao, verificatiecode, 验证码, 認証コード`);

const NEVER = phrases(
  `sign up, signup, register, registration, create, join, forgot, forgotten, forget, lost, reset, recover, trouble, show,
   hide, reveal, toggle, cancel, back, close, dismiss, help, clear, delete, remove, pay, buy, order, transfer, google, apple,
   facebook, github, microsoft, sso, saml, passkey, magic, scan, qr, guest, language, cookies, resend, search, menu,
   registrati, iscriviti, crea, dimenticata, annulla, indietro, chiudi, mostra, nascondi, registrieren, erstellen,
   vergessen, abbrechen, zuruck, schliessen, anzeigen, inscrire, inscription, creer, oublie, annuler, retour, fermer,
   afficher, masquer, registrarse, crear, olvide, olvidaste, cancelar, volver, cerrar, mostrar, ocultar, criar,
   registreren, vergeten, annuleren, 注册, 登録`);
const SIGNS_IN = phrases(
  `log in, login, log on, logon, sign in, signin, sign on, signon, authenticate, enter, accedi, entra, login to, anmelden,
   einloggen, connexion, connecter, se connecter, iniciar sesion, ingresar, acceder, entrar, iniciar sessao, inloggen,
   aanmelden, logga in, logg inn, log ind, zaloguj, войти, 登录, 登入, ログイン, サインイン, 로그인`);
const GOES_ON = phrases(
  `continue, next, submit, verify, confirm, ok, go, proceed, unlock, send, avanti, continua, prosegui, conferma, verifica,
   invia, weiter, bestatigen, absenden, prufen, suivant, continuer, valider, verifier, confirmer, envoyer, siguiente,
   continuar, confirmar, enviar, verificar, volgende, doorgaan, bevestigen, далее, продолжить, 下一步, 次へ, 다음`);

// What a field says of itself: what a person reads first, then what its author called it.
function sayings(field) {
  const read = [nameOf(field).text, attribute(field, 'placeholder'), attribute(field, 'name'), attribute(field, 'id')];
  return read.map(spoken).filter(Boolean);
}
const tokensOf = (field) => words((attribute(field, 'autocomplete') || '').toLowerCase());

// How surely a field takes the user name; negative: never. Where it stands only breaks ties.
function userLevel(field, tokens) {
  if (tokens.includes('username')) return 6;
  if (tokens.includes('email')) return 5;
  const type = inputType(field);
  const said = sayings(field);
  if (type === 'search' || said.some((text) => says(text, SEARCH) || says(text, CODE))) return -1;
  const byType = type === 'email' ? 3 : type === 'tel' ? 2 : 1;
  for (const text of said) {
    if (says(text, USER_NAME)) return 4;
    if (says(text, MAIL)) return Math.max(3, byType);
    if (says(text, OTHER)) return byType === 3 ? 3 : 0;
    if (says(text, USER)) return 4;
    if (says(text, NUMBER)) return Math.max(2, byType);
  }
  return byType;
}
// A field for a one-time code. A short number alone says so only where nothing else is asked for.
function asksForCode(field, tokens) {
  return tokens.includes('one-time-code') || (!tokens.some((token) => token.startsWith('cc-')) && sayings(field).some((text) => says(text, CODE)));
}
function isShortNumber(field) {
  const most = Number(attribute(field, 'maxlength'));
  return attribute(field, 'inputmode') === 'numeric' && most >= 4 && most <= 8;
}
const isBox = (field) => attribute(field, 'maxlength') === '1';

const TEXTLIKE = new Set(['text', 'email', 'tel', 'url', 'search', 'number']);
// `null`: the document is another one than the read's, and nothing can be said of its fields.
function probe(generation) {
  if (generation !== store.generation) return JSON.stringify(null);
  forgetRoles();
  forgetNames();
  forgetStyles();
  const found = { passwords: [], newPasswords: 0, texts: [], codes: [], boxes: [], held: 0 };
  const { elements } = store;
  elements.forEach((field, index) => {
    if (!connected(field) || tagOf(field) !== 'input') return;
    const type = inputType(field);
    const secret = type === 'password';
    if ((secret || protectedFields.has(field)) && fieldValue(field)) found.held++;
    if ((!secret && !TEXTLIKE.has(type)) || !fillable(field)) return;
    const tokens = tokensOf(field);
    // A protected box holds the digit that was typed, and is still a box of its row.
    if (isBox(field) || tokens.includes('one-time-code')) found.boxes.push(index);
    if (asksForCode(field, tokens) && !tokens.includes('current-password')) found.codes.push(index);
    else if (secret || tokens.includes('current-password')) {
      if (tokens.includes('new-password')) found.newPasswords++;
      else found.passwords.push(index);
    } else if (!isBox(field)) found.texts.push({ index, level: userLevel(field, tokens) });
  });
  return JSON.stringify(verdict(found, elements));
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
function verdict(found, elements) {
  const { passwords, newPasswords, texts, codes } = found;
  const out = { kind: 'none', username: -1, password: -1, codes: [], held: found.held, passwords: passwords.length, newPasswords };
  if (passwords.length + newPasswords > 1 || newPasswords) return { ...out, kind: 'change_or_registration' };
  if (passwords.length === 1) {
    const together = (index) => formOf(elements[index]) === formOf(elements[passwords[0]]) && documentOf(elements[index]) === documentOf(elements[passwords[0]]);
    const username = surest(texts.filter(({ index }) => together(index)), passwords[0]);
    return { ...out, kind: 'login', password: passwords[0], username };
  }
  const row = rowOfBoxes(found.boxes, elements);
  if (row) return { ...out, kind: 'code', codes: row };
  if (codes.length === 1) return { ...out, kind: 'code', codes };
  if (codes.length > 1 || found.boxes.length > 1) return { ...out, kind: 'many_codes' };
  if (texts.length === 1 && isShortNumber(elements[texts[0].index])) return { ...out, kind: 'code', codes: [texts[0].index] };
  const marked = texts.filter(({ level }) => level === 6);
  if (marked.length === 1) return { ...out, kind: 'username_first', username: marked[0].index };
  const names = texts.filter(({ level }) => level >= (texts.length > 1 ? 3 : 0));
  if (names.length === 1) return { ...out, kind: 'one_text', username: names[0].index };
  return out;
}
// The field that is most surely the user name; of equals the one nearest before the password. After it
// only one that says so itself.
function surest(texts, password) {
  let best = { level: -1, index: -1 };
  for (const field of texts) {
    if (field.level < (field.index > password ? 3 : 0)) continue;
    const nearer = field.index < password ? field.index > best.index || best.index > password : best.index < 0;
    if (field.level > best.level || (field.level === best.level && nearer)) best = field;
  }
  return best.index;
}
// Four to eight fields of one character, side by side in one form: one box for each digit.
function rowOfBoxes(boxes, elements) {
  if (boxes.length < 4 || boxes.length > 8) return null;
  const form = formOf(elements[boxes[0]]);
  const inputs = elements.filter((field, index) => tagOf(field) === 'input' && index >= boxes[0] && index <= boxes[boxes.length - 1] && fillable(field));
  return boxes.every((index) => formOf(elements[index]) === form) && inputs.length === boxes.length ? boxes : null;
}

// What sends the field: `press` the button at `at`, `enter` where the form has none of its own, or why
// nothing can: `disabled` yet, `unclear` between equals, `elsewhere` (its address is not the form's),
// `none`. `enter` also tells whether the key would come to the same as pressing.
function signInButton(generation, index) {
  const field = held(generation, index).element;
  if (!field) return JSON.stringify({ found: 'none', at: -1, enter: false });
  forgetRoles();
  forgetNames();
  forgetStyles();
  const form = formOf(field);
  const buttons = buttonsOf(form);
  const own = form ? buttons.filter((button) => button.form === form || inside(form, button.element)) : [];
  // Enter presses the form's first submit button, whichever that is, shown or not.
  const first = form && [...getter(HTMLFormElement.prototype, 'elements').call(form)].find(submits);
  const enter = !first || fits(asButton(first, -1, form));
  const answer = (found, button) => {
    const same = !button || !first || first === button.element;
    return JSON.stringify({ found, at: button ? button.at : -1, enter: enter && same });
  };
  const fit = own.filter((button) => fits(button) && (button.level > 0 || button.submits || button.named));
  const ready = fit.filter((button) => !button.disabled);
  if (ready.length) return isTie(ready) ? answer('unclear') : answer('press', ready[0]);
  if (fit.length) return answer('disabled');
  const astray = own.find((button) => button.level >= 0 && button.elsewhere);
  if (astray) return answer('elsewhere', astray);
  // No button of its own: the nearest around it that says so; without a form also one that says nothing.
  const strangers = buttons.filter((button) => fits(button) && !button.disabled && (!button.form || inside(button.form, field)));
  for (const least of form ? [1] : [1, 0]) {
    for (let up = flatParent(form || field); up; up = flatParent(up)) {
      const near = strangers.filter((button) => button.level >= least && (button.level > 0 || button.named) && inside(up, button.element));
      if (!near.length) continue;
      if (isTie(near)) return answer('unclear');
      return answer('press', near[0]);
    }
  }
  return answer(enter ? 'enter' : 'none');
}
const fits = (button) => button.level >= 0 && !button.elsewhere;
// Surest first; two that say the same and do the same can't be told apart.
const isTie = ([one, other]) => !!other && one.level === other.level && one.submits === other.submits;
// Everything shown that is pressed like a button, surest first.
function buttonsOf(form) {
  const buttons = [];
  store.elements.forEach((element, at) => {
    if (!connected(element) || roleOf(element) !== 'button' || !CHECK_VISIBILITY.call(element, { visibilityProperty: true })) return;
    const rect = rectOf(element);
    const type = tagOf(element) === 'input' ? inputType(element) : '';
    if (rect.width < 1 || rect.height < 1 || type === 'file' || type === 'reset' || has(element, 'aria-haspopup')) return;
    buttons.push(asButton(element, at, form));
  });
  return buttons.sort((a, b) => b.level - a.level || Number(b.submits) - Number(a.submits));
}
function asButton(element, at, form) {
  const text = spoken(nameOf(element).text);
  const level = buttonLevel(text || spoken(attribute(element, 'name') || attribute(element, 'id')));
  const disabled = matches(element, ':disabled') || truthy(element, 'aria-disabled');
  return { element, at, form: formOf(element), level, submits: submits(element), named: !!text, disabled, elsewhere: goesElsewhere(element, form) };
}
function buttonLevel(text) {
  const withOther = /\b(with|via|mit|avec)\b(?! (your )?(e ?mail|password|passwort|user|account|konto))/.test(text);
  if (withOther || says(text, NEVER)) return -1;
  return says(text, SIGNS_IN) ? 2 : says(text, GOES_ON) ? 1 : 0;
}
// A button with an address of its own beside the one its form has.
function goesElsewhere(button, form) {
  const own = attribute(button, 'formaction');
  const written = form && attribute(form, 'action');
  if (!submits(button) || !own || !own.trim() || !written || !written.trim()) return false;
  const base = String(getter(Node.prototype, 'baseURI').call(button));
  try {
    return new URL(own.trim(), base).href !== new URL(written.trim(), base).href;
  } catch {
    return true;
  }
}

// While a step has typed no password, a form with a place for one is not sent: its own script may take
// the press over, the browser's plain submit would be a failed sign-in.
let heldBack = false;
function holdBack(on) {
  heldBack = on;
  return true;
}
// After every handler of the page, hence on the way up.
EventTarget.prototype.addEventListener.call(window, 'submit', (event) => {
  const form = Event.prototype.composedPath.call(event)[0];
  if (!heldBack || !form || tagOf(form) !== 'form') return;
  const fields = [...getter(HTMLFormElement.prototype, 'elements').call(form)];
  if (fields.some((field) => tagOf(field) === 'input' && inputType(field) === 'password' && !fieldValue(field))) Event.prototype.preventDefault.call(event);
});
