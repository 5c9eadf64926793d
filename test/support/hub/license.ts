// Builds apps and licenses for tests.
import { randomBytes } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type {
  IssueLicensesRequestSchema,
  LicenseAdminService,
} from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { query } from '../postgres/databases.ts';

type Admin = Client<typeof LicenseAdminService>;

export type TestLicense = { readonly licenseId: string; readonly licenseKey: string; readonly app: string };

/** Creates an app whose licenses have no lease, and returns its slug. */
export async function createApp(admin: Admin): Promise<string> {
  const slug = `app-${randomBytes(5).toString('hex')}`;
  await admin.createApp({ slug, defaultTerms: { leaseDays: 0 } });
  return slug;
}

/** Issues a license of a new app. The default is three seats. */
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

/** Licenses whose stored number of taken seats differs from a count. There must be none. */
export function miscounted(databaseUrl: string): Promise<{ id: string; noted: number; counted: number }[]> {
  return query(
    databaseUrl,
    `select * from (
       select l.id::text, l.seats_used as noted,
              (select count(*)::int from seat s where s.license_id = l.id and s.released_at is null) as counted
       from license l
     ) both_ways where noted <> counted`,
  );
}
