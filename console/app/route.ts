// The route in the fragment of the address, which browsers do not send to servers.
import { createState, useValue } from './observable-state.ts';

export type Route = {
  /** `['sessions', 'chs_…']` */
  readonly path: readonly string[];
  /** Filters and the page of a list. */
  readonly query: Readonly<Record<string, string>>;
};

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** `#/sessions/chs_…?after=…`; omits empty query values. */
export function linkTo(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}

const current = createState(readRoute(location.hash));
addEventListener('hashchange', () => current.set(readRoute(location.hash)));

export function useRoute(): Route {
  return useValue(current);
}

export function go(link: string): void {
  location.hash = link;
}

/** Goes to a link in place of the current one: the way back does not lead through each typed letter. */
export function replaceRoute(link: string): void {
  history.replaceState(null, '', link);
  current.set(readRoute(link)); // without a hashchange event
}

/** The view of the objects whose ids begin with this. */
const VIEWS: Readonly<Record<string, string>> = {
  chs: 'sessions',
  ord: 'orders',
  ofr: 'offers',
  cb: 'callbacks',
  lic: 'licenses',
  cus: 'customers',
  evt: 'events',
  whe: 'endpoints',
};

/** The link to the page of this id; undefined if there is none. */
export function linkToId(id: string): string | undefined {
  const [, prefix = '', rest = ''] = /^(chs|use|ord|ofr|cb|lic|cus|evt|whe)_([0-9a-z]{26})$/.exec(id) ?? [];
  if (prefix === 'use') return linkTo(['sessions', `chs_${rest}`]); // a usage log has the id of its session
  const view = VIEWS[prefix];
  return view && linkTo([view, id]);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not an address that linkTo() built
  }
}
