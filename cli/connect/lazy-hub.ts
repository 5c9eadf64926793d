// The clients of a hub, connected on use: loading Connect and a contract takes as long as a call.
import type { Hub } from './connection.ts';

type Call = (...request: unknown[]) => Promise<unknown>;

/** The first call of a service connects its client; it throws what `connect` throws. */
export function lazyHub(connect: <Name extends keyof Hub>(service: Name) => Promise<Hub[Name]>): Hub {
  const clients = new Map<keyof Hub, Promise<Record<string, Call>>>();
  const clientOf = (service: keyof Hub): Promise<Record<string, Call>> => {
    const client =
      clients.get(service) ?? (connect(service) as Promise<unknown> as Promise<Record<string, Call>>);
    clients.set(service, client);
    return client;
  };
  return new Proxy({} as Hub, {
    get: (_, service: keyof Hub) =>
      new Proxy(
        {},
        {
          get:
            (_, method: string) =>
            (...request: unknown[]) =>
              reply(clientOf(service).then((client) => client[method]?.(...request))),
        },
      ),
  });
}

/** A promise of one reply that is also a stream of replies: the type of the client says which of them to use. */
function reply(made: Promise<unknown>): Promise<unknown> & AsyncIterable<unknown> {
  return Object.assign(made, {
    async *[Symbol.asyncIterator]() {
      yield* (await made) as AsyncIterable<unknown>;
    },
  });
}
