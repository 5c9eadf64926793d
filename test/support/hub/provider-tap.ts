// A proxy in front of a payment provider. It records each call, and can hold back responses.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type ProviderTap = {
  readonly url: string;
  /** The paths of all calls so far, in order and without the query: `/gateway_two/execute`. */
  readonly calls: readonly string[];
  /** The paths of the calls whose query or form contains this text, such as an id. */
  about(text: string): string[];
  /** The names of all headers so far. */
  readonly headers: ReadonlySet<string>;
  /** The maximum number of concurrent calls so far, of those whose query or form contains this text. */
  peak(text?: string): number;
  /** Holds responses until `release`. The provider still performs the calls. */
  hold(): void;
  /** The number of responses that are held back. */
  held(): number;
  release(): void;
  /** Forgets the calls so far. */
  forget(): void;
  close(): Promise<void>;
};

export async function startProviderTap(target: string): Promise<ProviderTap> {
  let calls: Call[] = [];
  const seen = new Set<string>();
  const underWay = new Set<Call>();
  let held = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();

  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const path = incoming.url ?? '/';
    const call: Call = { path: path.replace(/\?.*/, ''), text: path, beside: [...underWay] };
    calls.push(call);
    underWay.add(call);
    outgoing.once('close', () => underWay.delete(call));
    const { method, headers } = incoming;
    for (const name of Object.keys(headers)) seen.add(name);
    // The provider may close a kept connection just when the next call uses it.
    const onward = request(new URL(path, target), { method, headers, agent: false });
    outgoing.once('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy()); // the provider or the hub closed the connection
    const body = await buffer(incoming);
    call.text += ` ${body}`;
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]; // the event's only argument
    held += 1;
    await gate.promise;
    held -= 1;
    answer.on('error', () => outgoing.destroy());
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy()); // either side closed the connection
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port

  return {
    url: `http://127.0.0.1:${port}`,
    about: (text) => calls.filter((call) => call.text.includes(text)).map(({ path }) => path),
    get calls() {
      return calls.map(({ path }) => path);
    },
    headers: seen,
    peak(text = '') {
      const matching = (each: readonly Call[]): Call[] => each.filter((call) => call.text.includes(text));
      return Math.max(0, ...matching(calls).map(({ beside }) => 1 + matching(beside).length));
    },
    hold() {
      gate = Promise.withResolvers<void>();
    },
    held: () => held,
    release: () => gate.resolve(),
    forget() {
      calls = [];
    },
    async close() {
      gate.resolve();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** `beside`: the calls that were under way when it began. */
type Call = { readonly path: string; text: string; readonly beside: readonly Call[] };
