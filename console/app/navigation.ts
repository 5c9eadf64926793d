// The navigation entries of the console, and those that the caller may see.
import type { DescMethod } from '@bufbuild/protobuf';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { EventService } from '../../gen/hub/event/v1/event_service_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { MailService } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { OfferService } from '../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { RefundService } from '../../gen/hub/payment/v1/refund_service_pb.ts';
import { canSeeOrders } from './permissions.ts';
import type { SignedIn } from './signed-in.ts';

export type NavEntry = {
  readonly path: string;
  readonly title: string;
  /** The method that the view calls; undefined if it needs no permission. */
  readonly needs: DescMethod | undefined;
};

export const NAV_ENTRIES = [
  { path: '', title: 'Overview', needs: undefined },
  { path: 'sessions', title: 'Sessions', needs: PaymentService.method.listChargeSessions },
  { path: 'orders', title: 'Orders', needs: OrderService.method.listOrders },
  { path: 'refunds', title: 'Refunds', needs: RefundService.method.listRefunds },
  { path: 'mails', title: 'Mails', needs: MailService.method.listMails },
  { path: 'callbacks', title: 'Callbacks', needs: PaymentAdminService.method.listCallbacks },
  { path: 'usage', title: 'Usage and fees', needs: PaymentAdminService.method.summarizeUsage },
  { path: 'slots', title: 'Slots', needs: PaymentAdminService.method.listSlots },
  { path: 'offers', title: 'Offers', needs: OfferService.method.listOffers },
  { path: 'licenses', title: 'Licenses', needs: LicenseAdminService.method.listLicenses },
  { path: 'customers', title: 'Customers', needs: CustomerService.method.listCustomers },
  { path: 'apps', title: 'Apps and keys', needs: LicenseAdminService.method.listApps },
  { path: 'events', title: 'Events', needs: EventService.method.listEvents },
  { path: 'endpoints', title: 'Endpoints', needs: EventService.method.listEndpoints },
  { path: 'health', title: 'Health', needs: MetricsService.method.readMetrics },
  { path: 'audit', title: 'Audit log', needs: AuditService.method.listAuditEntries },
] as const satisfies readonly NavEntry[];

/** The entries that the caller may open. */
export function navEntriesFor({ caller, may, isLimited }: SignedIn): readonly NavEntry[] {
  return NAV_ENTRIES.filter(({ path, needs }) => {
    // A limited token may list only the callbacks of one session, which that session's page shows.
    if (path === 'callbacks' && isLimited) return false;
    if (path === 'orders') return canSeeOrders(caller);
    return needs === undefined || may(needs);
  });
}
