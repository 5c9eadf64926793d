// All routes of the gateway.
import type { Transport } from '@connectrpc/connect';
import { healthRoutes } from './health-routes.ts';
import { licenseRoutes } from './license-routes.ts';
import { orderRoutes } from './order-routes.ts';
import { type PageOptions, pageRoutes } from './page-routes.ts';
import { referenceRoutes } from './reference-routes.ts';
import { returnRoutes } from './return-routes.ts';
import type { Route } from './route.ts';
import { webhookRoutes } from './webhook-routes.ts';

type RouteOptions = Partial<PageOptions> & {
  isUnavailable?: () => boolean;
  /** Rejects while the core refuses the gateway. */
  checkAccess?: (() => Promise<void>) | undefined;
  /** Whether to serve /docs and /openapi.json. Default: true. */
  docs?: boolean;
};

export function gatewayRoutes(
  transport: Transport,
  { guesses, purchases, publicUrl, isUnavailable = () => false, checkAccess, docs = true }: RouteOptions = {},
): Route[] {
  return [
    ...licenseRoutes(transport, guesses),
    ...webhookRoutes(transport),
    ...returnRoutes(transport),
    ...orderRoutes(transport, guesses),
    ...pageRoutes(transport, { guesses, purchases, publicUrl }),
    ...healthRoutes(transport, isUnavailable, checkAccess),
    ...(docs ? referenceRoutes() : []),
  ];
}
