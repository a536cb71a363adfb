// Asks for a live page again every two seconds, and puts its newer parts in place of the older ones. All else works without.
'use strict';
(() => {
  if (document.body.dataset.live !== 'true') return;
  const every = 2000;
  const bar = document.createElement('p');
  const button = document.createElement('button');
  const state = document.createElement('span');
  let on = true;
  let behind = 0;
  button.type = 'button';
  button.id = 'refresh';
  button.textContent = 'Stop refreshing';
  bar.append(button, ' ', state);
  document.querySelector('h1').after(bar);
  button.addEventListener('click', () => {
    on = !on;
    button.textContent = on ? 'Stop refreshing' : 'Refresh every 2 s';
  });
  // A part in which somebody is reading with a cursor, or has chosen rows, stays as it is.
  const inUse = part => part.contains(document.activeElement) || part.querySelector('input:checked') !== null
    || (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));
  // Parts are replaced by newer ones that differ, those that are new are put before the same part as there, and those that are gone are taken away.
  const renew = page => {
    const ids = [...page.querySelectorAll('#main > [id]')].map(one => one.id);
    for (const part of document.querySelectorAll('[data-part]')) {
      if (!ids.includes(part.id) && !inUse(part)) part.remove();
    }
    for (const newer of [...page.querySelectorAll('[data-part]')]) {
      const part = document.getElementById(newer.id);
      if (part === null) {
        const behind = ids.slice(ids.indexOf(newer.id) + 1).map(id => document.getElementById(id)).find(one => one !== null);
        document.getElementById('main').insertBefore(newer, behind ?? null);
      } else if (!part.isEqualNode(newer) && !inUse(part)) {
        part.replaceWith(newer);
      }
    }
  };
  const refresh = async () => {
    if (on && !document.hidden) {
      try {
        const answer = await fetch(location.href, {headers: {Accept: 'text/html'}, signal: AbortSignal.timeout(10000)});
        if (!answer.ok) throw new Error(answer.status);
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        renew(page);
        behind = 0;
        state.textContent = '';
      } catch (failure) {
        behind += 1;
        state.textContent = 'Not refreshed: the console does not answer (' + failure.message + '). It is tried again.';
      }
    }
    setTimeout(refresh, every * Math.min(16, 2 ** behind));
  };
  setTimeout(refresh, every);
})();
