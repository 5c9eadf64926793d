// Resolves a host name to all of its addresses.
import { lookup, Resolver } from 'node:dns/promises';
import { codeOf } from '../../../lib/caught-error.ts';

/** Rejects with the code ENOTFOUND if the name has no address, and EAI_AGAIN if no server answers. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Creates the function that queries DNS for the IPv4 and IPv6 addresses of a name. By default, it queries the
 * DNS servers of the machine. If they do not know the name, it calls the resolver of the operating system,
 * which also reads the hosts file and the search domains.
 */
export function createResolveName(resolver?: Resolver): ResolveName {
  if (resolver !== undefined) return (name) => askDns(resolver, name);
  const servers = new Resolver({ timeout: TRY_MS, tries: TRIES });
  const askSystem = oneAtATime(async (name) =>
    (await lookup(name, { all: true })).map(({ address }) => address),
  );
  // DNS first: a lookup of the operating system occupies one of the few threads that file access also needs,
  // for as long as an untrusted name server does not answer.
  return (name) =>
    askDns(servers, name).catch((error) => {
      if (codeOf(error) === 'EAI_AGAIN') throw error;
      return askSystem(name);
    });
}

async function askDns(resolver: Resolver, name: string): Promise<readonly string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : undefined));
  const isSlow = codes.some((code) => code === 'ETIMEOUT' || code === 'ECANCELLED');
  throw Object.assign(new Error(`${name} has no address`), { code: isSlow ? 'EAI_AGAIN' : 'ENOTFOUND' });
}

/** Runs one call at a time. Concurrent callers with the same name share a call. */
function oneAtATime(ask: ResolveName): ResolveName {
  const pending = new Map<string, Promise<readonly string[]>>();
  let last: Promise<unknown> = Promise.resolve();
  return (name) => {
    const same = pending.get(name);
    if (same !== undefined) return same;
    const turn = last.then(() => ask(name)).finally(() => pending.delete(name));
    pending.set(name, turn);
    last = turn.catch(() => {});
    return turn;
  };
}
