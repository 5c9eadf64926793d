// Makes a hub run its operations on customers, license keys and imports, also for tokens that are limited to
// an app, so that their statements can be observed.
import { randomUUID } from 'node:crypto';
import { type Client, createClient } from '@connectrpc/connect';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../../gen/hub/license/v1/license_service_pb.ts';
import { type TestHub, transportTo } from '../../support/hub/hub.ts';
import { customerAt, FLEET, keyAt, type Population } from './population.ts';

const APP = 'scale';

/** @param times how often each operation runs; different for each call on a database */
export async function driveCustomers(hub: TestHub, population: Population, times: number): Promise<void> {
  const customers = createClient(CustomerService, hub.transport);
  const shop = await shopOf(hub);
  for (let turn = 0; turn < times; turn++) {
    const index = times * EACH + turn;
    await createAndRead(customers, index);
    await eraseOne(hub, customers, index);
    for (const issuer of [hub.admin, shop.admin]) await issueInline(issuer, index);
    await driveKeys(hub, shop.admin);
    await importSome(hub, index);
    // Of odd indexes, because the other licenses have expired.
    for (const licenseIndex of [6 * index + 3, FLEET.license]) {
      const { customerId } = customerAt(population, licenseIndex);
      await shop.customers.getCustomer({ customerId });
      await customers.getCustomer({ customerId });
      const licenseKey = keyAt(licenseIndex);
      await shop.gateway.activate({ licenseKey, machineFingerprint: 'limited' });
      await shop.gateway.deactivate({ licenseKey, machineFingerprint: 'limited' });
    }
  }
  await driveCustomerLists(customers, population);
}
/** Customers per call, at most. */
const EACH = 200;

/** Clients with tokens that are limited to the app. */
async function shopOf(hub: TestHub) {
  const tokens = createClient(TokenService, hub.transport);
  const transportOf = async (role: Role) => {
    const { token } = await tokens.createToken({ role, apps: [APP] });
    return transportTo(hub.rpcUrl, token);
  };
  const service = await transportOf(Role.SERVICE);
  return {
    admin: createClient(LicenseAdminService, service),
    customers: createClient(CustomerService, service),
    gateway: createClient(LicenseService, await transportOf(Role.GATEWAY)),
  };
}

async function createAndRead(customers: Client<typeof CustomerService>, index: number): Promise<void> {
  const idempotencyKey = randomUUID();
  const externalRef = `NEW-${randomUUID()}`;
  const request = { name: `New ${index}`, email: `new-${index}@example.com`, externalRef, idempotencyKey };
  await customers.createCustomer(request);
  await customers.createCustomer(request);
}

/** Erases a customer with a charge session, whose email address has changed. */
async function eraseOne(
  hub: TestHub,
  customers: Client<typeof CustomerService>,
  index: number,
): Promise<void> {
  const { customers: found } = await customers.listCustomers({ email: `customer-${index}@EXAMPLE.com` });
  const customerId = found[0]?.customerId ?? '';
  await customers.updateCustomer({
    customerId,
    updateMask: { paths: ['name', 'email', 'external_ref'] },
    name: 'Renamed',
    email: `renamed-${index}@example.com`,
    externalRef: `RENAMED-${index}`,
  });
  // Not the first entry: the customer had no key for its data before.
  await customers.updateCustomer({ customerId, updateMask: { paths: ['name'] }, name: 'Renamed again' });
  await createClient(AuditService, hub.transport).listAuditEntries({ subject: customerId });
  await customers.eraseCustomer({ customerId });
}

async function issueInline(admin: Client<typeof LicenseAdminService>, index: number): Promise<void> {
  for (const customer of [
    { customer: `inline ${index}` },
    { customer: `customer ${index + EACH / 2}` },
    { customer: 'fleet' },
    { customer: 'new', customerEmail: `customer-${index + EACH / 2}@example.com` },
    { customer: 'fleet', customerEmail: FLEET.email },
  ]) {
    const request = { app: APP, seatLimit: 1, idempotencyKey: randomUUID(), ...customer };
    await admin.issueLicenses(request);
    await admin.issueLicenses(request);
  }
}

/** Shows and replaces keys: the hub issued the license itself, so it can derive them. */
async function driveKeys(hub: TestHub, shop: Client<typeof LicenseAdminService>): Promise<void> {
  const { licenses } = await hub.admin.issueLicenses({ app: APP, seatLimit: 1 });
  const licenseId = licenses[0]?.license?.licenseId ?? '';
  await hub.admin.getLicenseKey({ licenseId });
  for (const admin of [hub.admin, shop]) {
    const idempotencyKey = randomUUID();
    await admin.rekeyLicense({ licenseId, idempotencyKey });
    await admin.rekeyLicense({ licenseId, idempotencyKey });
  }
  await hub.admin.listKeySecrets({});
}

/** Lines with customers that exist, by each of their identities, and with new ones. */
async function importSome(hub: TestHub, index: number): Promise<void> {
  const line = (customer: object) => ({ licenseKey: `IMPORT-${randomUUID()}`, seatLimit: 1, ...customer });
  const known = index + EACH / 2;
  const licenses = [
    line({}),
    line({ customerRef: `CRM-${known}` }),
    line({ customerEmail: `customer-${known}@example.com` }),
    line({ customer: `inline ${index}` }),
    line({ customer: `imported ${index}` }),
    line({ customerRef: `IMPORTED-${index}`, customerEmail: `imported-${index}@example.com` }),
    line({ customerEmail: FLEET.email }),
  ];
  for (const dryRun of [true, false]) {
    await hub.admin.importLicenses(messages({ app: APP, dryRun, licenses }));
  }
}

async function* messages<T>(...all: readonly T[]): AsyncIterable<T> {
  yield* all;
}

async function driveCustomerLists(
  customers: Client<typeof CustomerService>,
  { licenses }: Population,
): Promise<void> {
  const rare = Math.floor(licenses / 40);
  for (const filter of [
    {},
    { app: APP },
    { email: `CUSTOMER-${rare}@example.com` },
    { email: FLEET.email },
    { externalRef: `CRM-${rare}` },
    { externalRef: FLEET.externalRef },
    { search: `customer-${rare}@` },
    { search: FLEET.email },
    { search: 'customer' },
    { search: 'customer', app: APP },
    { search: 'nobody at all' },
    { search: '7' },
    { search: 'Ω' },
  ]) {
    const { nextPageToken } = await customers.listCustomers(filter);
    if (nextPageToken !== '') await customers.listCustomers({ ...filter, pageToken: nextPageToken });
  }
}
