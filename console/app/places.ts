// The places of the console, and which of them whoever has signed in may see.
import type { DescMethod } from '@bufbuild/protobuf';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { isLimited, may } from './may.ts';
import type { SignedIn } from './signed-in.ts';

export type Place = {
  readonly path: string;
  readonly title: string;
  /** What it asks the hub first of all; undefined where that is nothing but health. */
  readonly needs: DescMethod | undefined;
};

export const PLACES = [
  { path: '', title: 'Overview', needs: undefined },
  { path: 'sessions', title: 'Sessions', needs: PaymentService.method.listChargeSessions },
  { path: 'callbacks', title: 'Callbacks', needs: PaymentAdminService.method.listCallbacks },
  { path: 'usage', title: 'Usage and fees', needs: PaymentAdminService.method.summarizeUsage },
  { path: 'slots', title: 'Slots', needs: PaymentAdminService.method.listSlots },
  { path: 'licenses', title: 'Licenses', needs: LicenseAdminService.method.listLicenses },
  { path: 'apps', title: 'Apps and keys', needs: LicenseAdminService.method.listApps },
  { path: 'health', title: 'Health', needs: MetricsService.method.readMetrics },
  { path: 'audit', title: 'Audit log', needs: AuditService.method.listAuditEntries },
] as const satisfies readonly Place[];

/** Those that there is a way to. */
export function placesFor({ caller }: SignedIn): readonly Place[] {
  return PLACES.filter(({ path, needs }) => {
    // A limited token can list the callbacks of one session, and finds them there.
    if (path === 'callbacks' && isLimited(caller)) return false;
    return needs === undefined || may(caller, needs);
  });
}
