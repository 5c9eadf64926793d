// The shop of the demo: an offer of the demo app, and the page that sells it.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createShop } from '../../examples/shop/shop.ts';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { codeOf } from '../../lib/caught-error.ts';
import type { Hub } from '../connect/connection.ts';
import { ignoreExisting } from './seed-demo.ts';

export type DemoShopOptions = {
  readonly app: string;
  readonly slots: readonly string[];
  readonly rpcUrl: string;
  readonly gatewayUrl: string;
};

const SLUG = 'standard';
const DEFAULT_PORT = 5097;
const TOKEN_NAME = 'demo-shop';

/** Starts the shop. Its token is limited to this app and these slots. */
export async function startDemoShop(
  { offers, tokens }: Pick<Hub, 'offers' | 'tokens'>,
  { app, slots, rpcUrl, gatewayUrl }: DemoShopOptions,
) {
  const offer = `${app}/${SLUG}`;
  await createOffer(offers, app);
  await revokeEarlierTokens(tokens);
  const { token } = await tokens.createToken({
    name: TOKEN_NAME,
    role: Role.SHOP,
    apps: [app],
    slots: [...slots],
  });
  const shop = createShop({ rpcUrl, gatewayUrl, token, offer, slots: [...slots] });
  await listen(shop, DEFAULT_PORT).catch((error) => {
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    return listen(shop, 0);
  });
  const { port } = shop.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}/`,
    offer,
    async close(): Promise<void> {
      shop.close();
      shop.closeAllConnections();
      await once(shop, 'close');
    },
  };
}

async function createOffer(offers: Hub['offers'], app: string): Promise<void> {
  const terms = {
    name: 'Demo Standard',
    prices: [
      { minorUnits: 10_000n, currency: 'BDT' },
      { minorUnits: 900n, currency: 'USD' },
    ],
    grant: {
      case: 'license' as const,
      value: { seatLimit: 2, limitProfile: 'pro', features: ['export'], validFor: { years: 1 } },
    },
  };
  await ignoreExisting(offers.createOffer({ app, slug: SLUG, terms }));
}

/** The tokens of earlier runs: the demo does not keep them. */
async function revokeEarlierTokens(tokens: Hub['tokens']): Promise<void> {
  const { serviceTokens } = await tokens.listTokens({ pageSize: 1_000 });
  const earlier = serviceTokens.filter(({ name }) => name === TOKEN_NAME);
  for (const { tokenId } of earlier) await tokens.revokeToken({ tokenId });
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
