'use strict';
// The token lives in this variable and nowhere else. Everything shown is set as text, never as markup.
(() => {
  let token = '';
  const state = document.getElementById('state');
  const list = document.getElementById('list');
  const field = document.getElementById('token');

  async function call(path, body) {
    const wish = { headers: { Authorization: 'Bearer ' + token }, cache: 'no-store' };
    if (body) {
      wish.method = 'POST';
      wish.headers['Content-Type'] = 'application/json';
      wish.body = JSON.stringify(body);
    }
    const response = await fetch(path, wish);
    if (!response.ok) throw new Error(response.status === 401 ? 'This is not the approver token.' : 'It could not be done: it may have expired.');
    return response.json();
  }

  function element(name, text) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    return made;
  }

  function answerButton(one, decision, words) {
    const button = element('button', words);
    button.type = 'button';
    button.className = decision;
    button.addEventListener('click', async () => {
      let told;
      try {
        const answer = await call('/approvals/' + encodeURIComponent(one.id), { decision });
        told = answer.decision === 'approved' ? 'Approved, for this one action.' : 'Denied.';
      } catch (error) {
        told = error.message;
      }
      await show(told);
    });
    return button;
  }

  function item(one) {
    const li = element('li');
    li.append(element('h2', one.summary[0]));
    for (const line of one.summary.slice(1)) li.append(element('p', line));
    li.append(element('p', `Asked by ${one.owner}; kind: ${one.risk}; expires in ${one.expires_in} s.`));
    if (one.picture) {
      const picture = element('img');
      picture.alt = 'The page as it is now, secrets covered';
      picture.src = 'data:image/png;base64,' + one.picture;
      li.append(picture);
    } else {
      li.append(element('p', 'There is no picture of it.'));
    }
    const row = element('p');
    row.append(answerButton(one, 'approve', 'Approve'), ' ', answerButton(one, 'deny', 'Deny'));
    li.append(row);
    return li;
  }

  async function show(told) {
    let pending;
    try {
      ({ pending } = await call('/approvals/pending'));
    } catch (error) {
      list.replaceChildren();
      state.textContent = error.message;
      return;
    }
    list.replaceChildren(...pending.map(item));
    const count = pending.length === 1 ? '1 question waits.' : `${pending.length} questions wait.`;
    state.textContent = told ? `${told} ${count}` : count;
  }

  document.getElementById('unlock').addEventListener('submit', (event) => {
    event.preventDefault();
    token = field.value.trim();
    field.value = '';
    show('');
  });
})();
