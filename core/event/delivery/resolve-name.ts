// Resolves a host name to all of its addresses.
import { lookup, Resolver } from 'node:dns/promises';
import { codeOf } from '../../../lib/caught-error.ts';

/** Rejects with the code ENOTFOUND if the name has no address, and EAI_AGAIN if no server answers. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Asks DNS for the IPv4 and the IPv6 addresses of a name. Without a resolver it asks the servers of the
 * machine, and then the machine for a name that they do not know: from its hosts file, or a search domain.
 */
export function createResolveName(resolver?: Resolver): ResolveName {
  if (resolver !== undefined) return (name) => askDns(resolver, name);
  const servers = new Resolver({ timeout: TRY_MS, tries: TRIES });
  const askMachine = inTurn(async (name) =>
    (await lookup(name, { all: true })).map(({ address }) => address),
  );
  // Not the machine first: a lookup occupies one of the few threads that files also need, for as long as the
  // name server of a stranger does not answer.
  return (name) =>
    askDns(servers, name).catch((error) => {
      if (codeOf(error) === 'EAI_AGAIN') throw error;
      return askMachine(name);
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

/** Runs one call at a time, and shares it among callers with the same name. */
function inTurn(ask: ResolveName): ResolveName {
  const asked = new Map<string, Promise<readonly string[]>>();
  let last: Promise<unknown> = Promise.resolve();
  return (name) => {
    const same = asked.get(name);
    if (same !== undefined) return same;
    const turn = last.then(() => ask(name)).finally(() => asked.delete(name));
    asked.set(name, turn);
    last = turn.catch(() => {});
    return turn;
  };
}
