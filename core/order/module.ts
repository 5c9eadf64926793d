// Wires offers and orders: what payments need to sell, and the services.
import { OfferService } from '../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { KeySecrets } from '../license/keys/open-key-secrets.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import type { PaymentModule } from '../payment/module.ts';
import type { Sales } from '../payment/order-interface.ts';
import { serve } from '../service-implementation.ts';
import { createClaimTokens } from './claims/claim-tokens.ts';
import { createGetClaimedOrder } from './claims/claimed-order.ts';
import { createFulfill } from './fulfillment/fulfill.ts';
import type { QueueMails } from './fulfillment/grant-purchases.ts';
import { createOrderReader } from './messages.ts';
import { createOfferService } from './offer-service.ts';
import { createOffers } from './offers/offer-admin.ts';
import { createOrderService } from './order-service.ts';
import { createReadIssuedKeys } from './orders/issued-keys.ts';
import { createOrders } from './orders/order-admin.ts';
import { createOfferPage } from './purchases/page-purchases.ts';
import { createQuote, createQuoteCatalog } from './purchases/quote.ts';
import { createReadPurchases } from './purchases/read-purchases.ts';
import { reviewPartialRefund } from './refunds/partial-refunds.ts';
import { takeBack } from './refunds/take-back-orders.ts';
import { createFindOrderOwner } from './scope-lookup.ts';
import { orderTableMetrics } from './table-metrics.ts';

export type OrderModuleOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'> & {
  readonly keySecrets: KeySecrets;
  /** Queues the mails of fulfilled orders. Default: none. */
  readonly queueMails?: QueueMails | undefined;
};

export function createOrderModule(options: OrderModuleOptions) {
  const { db, sealer, keySecrets, clock } = options;
  const { pool } = db;
  const offers = createOffers({ db, keySecrets, clock });
  const fulfill = createFulfill(keySecrets, options.queueMails);
  const claims = createClaimTokens({ pool, clock });
  const sales: Sales = {
    quote: createQuote({ db, sealer, offers, clock }),
    quoteCatalog: createQuoteCatalog({ db, sealer, offers, clock }),
    fulfill,
    takeBack,
    reviewPartialRefund,
    readPurchases: createReadPurchases(pool),
    issueClaim: claims.issue,
  };
  return {
    sales,
    findOwner: createFindOrderOwner(pool),
    eventReaders: createOrderReader(pool),
    figures: orderTableMetrics,
    /** The services, which create sessions through the payment module. */
    services: ({ createSession, sessions }: Pick<PaymentModule, 'createSession' | 'sessions'>) => [
      serve(OfferService, createOfferService(offers)),
      serve(
        OrderService,
        createOrderService({
          orders: createOrders({ db, fulfill, clock }),
          getClaimedOrder: createGetClaimedOrder({
            db,
            claims,
            readIssuedKeys: createReadIssuedKeys(db, keySecrets),
          }),
          ...createOfferPage({ offers, createSession, sessions, claims }),
        }),
      ),
    ],
  };
}
