// Creates the sample data of a hub: a demo app, its limit profiles and a license with three seats.
import { type Client, Code, ConnectError } from '@connectrpc/connect';
import type { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { requireField } from '../connect/calls.ts';
import type { DemoLicense } from '../views/operations/demo.ts';

/**
 * Creates the app `demo` (kept if it exists) with the profiles `free` and `pro`, and issues a
 * license. Each call issues another one.
 */
export async function seedDemo(admin: Client<typeof LicenseAdminService>): Promise<DemoLicense> {
  const app = 'demo';
  await ignoreExisting(admin.createApp({ slug: app, name: 'Demo' }));
  await admin.setLimitProfile({ app, name: 'free', limits: { projects: 3n, exports: 10n } });
  await admin.setLimitProfile({ app, name: 'pro', limits: { projects: -1n, exports: 1000n } });
  const { licenses } = await admin.issueLicenses({
    app,
    seatLimit: 3,
    limitProfile: 'pro',
    customer: 'Demo customer',
  });
  const { license, licenseKey } = requireField(licenses[0], 'license');
  const { licenseId, seats } = requireField(license, 'license');
  return { app, licenseId, licenseKey, seats: requireField(seats, 'seats').limit };
}

/** Ignores `already_exists`: an earlier run may have created it. */
export async function ignoreExisting(call: Promise<unknown>): Promise<void> {
  await call.catch((error) => {
    if (ConnectError.from(error).code !== Code.AlreadyExists) throw error;
  });
}
