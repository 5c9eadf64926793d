// The frame around every view: navigation, search by id, account and freshness of the data.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, announcement } from '../announce.ts';
import { useValue } from '../observable-state.ts';
import { roleName } from '../permissions.ts';
import { isPaused, lastAnswer } from '../poll-hub.ts';
import { go, linkTo, linkToId, useRoute } from '../route.ts';
import { signOut, useSignedIn } from '../sign-in-state.ts';
import { THEMES, theme } from '../theme.ts';
import { placesFor } from '../views/view.tsx';
import { Brand } from './brand.tsx';
import { Select } from './select.tsx';
import { momentText, zone } from './times.tsx';

export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Side />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Announcer />
    </div>
  );
}

function Side() {
  const who = useSignedIn();
  const { path } = useRoute();
  const [isOpen, setOpen] = useState(false);
  const here = path[0] ?? '';
  return (
    <header class={isOpen ? 'side open' : 'side'}>
      <div class="top">
        <Brand />
        <button
          type="button"
          class="menu"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </div>
      <div id="menu">
        <Finder />
        <nav aria-label="Views">
          <ul>
            {placesFor(who).map(([name, title]) => (
              <li key={name}>
                <a
                  href={linkTo([name].filter(Boolean))}
                  aria-current={name === here ? 'page' : undefined}
                  onClick={() => setOpen(false)}
                >
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="foot">
          <Freshness />
          <Choices />
          <Account />
        </div>
      </div>
    </header>
  );
}

/** Opens the page of a pasted id. The key `/` focuses it. */
function Finder() {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const slash = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, select, textarea, dialog');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', slash);
    return () => document.removeEventListener('keydown', slash);
  }, []);
  const find = (event: Event): void => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text === '') return;
    // Other text may be the caller's reference of a session.
    go(linkToId(text) ?? linkTo(['sessions'], { order: text, span: 'all' }));
    if (field.current) field.current.value = '';
  };
  return (
    <search class="finder">
      <form onSubmit={find}>
        <input
          ref={field}
          type="search"
          aria-label="Go to an id (chs_…, cb_…, lic_…, cus_…, evt_…, whe_…) or find an order"
          placeholder="Id or order (press /)"
          autocomplete="off"
          spellcheck={false}
        />
      </form>
    </search>
  );
}

function Freshness() {
  const { at, fails } = useValue(lastAnswer);
  const paused = useValue(isPaused);
  const where = useValue(zone);
  const state = paused ? 'paused' : fails ? 'no answer' : 'live';
  const toggle = (): void => {
    isPaused.set(!paused);
    announce(paused ? 'Updates go on' : 'Updates are paused');
  };
  return (
    <div class={`freshness ${state.replace(' ', '-')}`}>
      <span class="state">{state}</span>
      <span class="muted">{at && momentText(at, where).slice(-8)}</span>
      <button type="button" class="quiet" aria-pressed={paused} onClick={toggle}>
        {paused ? 'Resume' : 'Pause'}
      </button>
    </div>
  );
}

function Choices() {
  return (
    <div class="choices">
      <Select
        label="Theme"
        choices={THEMES.map((each) => [each, each])}
        value={useValue(theme)}
        onChange={(value) => theme.set(THEMES.find((each) => each === value) ?? 'system')}
      />
      <Select
        label="Times"
        choices={[
          ['local', 'local'],
          ['UTC', 'UTC'],
        ]}
        value={useValue(zone)}
        onChange={(value) => zone.set(value === 'UTC' ? 'UTC' : 'local')}
      />
    </div>
  );
}

function Account() {
  const { caller, isLimited } = useSignedIn();
  return (
    <div class="account">
      <div>
        <strong>{caller.name}</strong>
        <span class="muted">
          {roleName(caller.role)}
          {isLimited && `, limited to ${[...caller.apps, ...caller.slots].join(', ')}`}
        </span>
      </div>
      <button type="button" class="quiet" onClick={() => signOut()}>
        Sign out
      </button>
    </div>
  );
}

const SHOWN_MS = 6_000;

function Announcer() {
  const text = useValue(announcement);
  useEffect(() => {
    const timer = setTimeout(() => announcement.set(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class={text === '' ? 'toast' : 'toast shown'} role="status" aria-live="polite">
      {text}
    </div>
  );
}
