// A small shop: it sells an offer through the hub, keeps the claim token, and shows the key to the customer who returns.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { GatewayName } from '../../support/hub/payment.ts';
import { buy, type Sales } from '../../support/hub/sales.ts';

export type TestShop = {
  readonly url: string;
  /** The claim tokens by session: only the server has them. */
  readonly claims: ReadonlyMap<string, string>;
  close(): void;
};

/** `/buy/{gateway}` starts a purchase; customers return to `/paid`. `gatewayUrl` is that of the hub. */
export async function openShop(sales: Sales, offer: string, gatewayUrl: string): Promise<TestShop> {
  const claims = new Map<string, string>();
  const start = async (gateway: GatewayName, response: ServerResponse): Promise<void> => {
    const { session, claimToken } = await buy(sales, offer, { gateway, returnUrl: `${url}/paid?cart=7` });
    claims.set(session.sessionId, claimToken);
    response.writeHead(303, { location: session.checkoutUrl }).end();
  };
  const finish = async (query: URLSearchParams, response: ServerResponse): Promise<void> => {
    const sessionId = query.get('session_id') ?? '';
    const headers = { authorization: `Bearer ${claims.get(sessionId)}` };
    for (;;) {
      const answer = await fetch(`${gatewayUrl}/v1/orders/${sessionId}`, { headers });
      const { status, licenses } = (await answer.json()) as {
        status: string;
        licenses: { licenseKey: string }[];
      };
      if (status === 'pending') {
        await pause(50);
        continue;
      }
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        `<h1>${status}</h1><p>cart ${query.get('cart')}</p><code>${licenses[0]?.licenseKey ?? ''}</code>`,
      );
      return;
    }
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
    const gateway = /^\/buy\/(gateway_one|gateway_two)$/.exec(pathname)?.[1] as GatewayName | undefined;
    const work = gateway ? start(gateway, response) : finish(searchParams, response);
    work.catch((error) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`; // it listens on TCP
  return { url, claims, close: () => server.closeAllConnections() ?? server.close() };
}
