// Builds apps and licenses for tests.
import { randomBytes } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type {
  IssueLicensesRequestSchema,
  LicenseAdminService,
} from '../../gen/hub/license/v1/license_admin_service_pb.ts';

type Admin = Client<typeof LicenseAdminService>;

export type TestLicense = { readonly licenseId: string; readonly licenseKey: string; readonly app: string };

/** A new app; its slug. */
export async function createApp(admin: Admin): Promise<string> {
  const slug = `app-${randomBytes(5).toString('hex')}`;
  await admin.createApp({ slug });
  return slug;
}

/** A license of a new app, with three seats unless said otherwise. */
export async function issueLicense(
  admin: Admin,
  request: MessageInitShape<typeof IssueLicensesRequestSchema> = {},
): Promise<TestLicense> {
  const app = request.app ?? (await createApp(admin));
  const { licenses } = await admin.issueLicenses({ seatLimit: 3, ...request, app });
  const [issued] = licenses;
  if (issued?.license === undefined) throw new Error('no license was issued');
  return { licenseId: issued.license.licenseId, licenseKey: issued.licenseKey, app };
}
