// Customers: create, change, search and list, and what the audit log stores about them.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { query } from '../../support/postgres/databases.ts';

describe('a customer', () => {
  let hub: TestHub;
  let customers: ReturnType<typeof customersOf>;
  before(async () => {
    hub = await startHub();
    customers = customersOf(hub);
  });
  after(() => hub.stop());

  const create = async (request: Parameters<typeof customers.createCustomer>[0]) => {
    const { customer } = await customers.createCustomer(request);
    if (customer === undefined) throw new Error('no customer was created');
    return customer;
  };

  it('has a name, and optionally an email, a reference and metadata', async () => {
    const ada = await create({
      name: 'Ada Lovelace',
      email: 'Ada@Example.com',
      externalRef: 'CRM-1',
      metadata: { plan: 'gold', seats_sold: '3' },
    });
    expect(ada.customerId).to.match(/^cus_/);
    const { customer } = await customers.getCustomer({ customerId: ada.customerId });
    expect(customer).to.deep.equal(ada);
    expect(ada).to.include({ name: 'Ada Lovelace', email: 'Ada@Example.com', externalRef: 'CRM-1' });
    expect(ada.metadata).to.deep.equal({ plan: 'gold', seats_sold: '3' });
    const bare = await create({ name: 'Nobody' });
    expect(bare.email).to.equal(undefined);
    expect(bare.externalRef).to.equal(undefined);
  });

  it('is refused with an invalid value, and the error names the field', async () => {
    const refuse = async (request: Parameters<typeof customers.createCustomer>[0], field: string) => {
      const error = await failure(customers.createCustomer(request));
      expect(error.code).to.equal(Code.InvalidArgument);
      expect(error.rawMessage).to.contain(field);
    };
    await refuse({ name: '' }, 'name');
    await refuse({ name: 'A', email: 'no address' }, 'email');
    await refuse({ name: 'A', metadata: { '9x': '' } }, 'metadata');
    await refuse({ name: 'A', metadata: { x: 'x'.repeat(501) } }, 'metadata');
  });

  it('has a reference that no other customer has, even if both are created at once', async () => {
    const externalRef = 'CRM-taken';
    const both = await Promise.allSettled(
      ['A', 'B', 'C'].map((name) => customers.createCustomer({ name, externalRef })),
    );
    expect(both.filter(({ status }) => status === 'fulfilled')).to.have.lengthOf(1);
    expect(codeOf(await failure(customers.createCustomer({ name: 'D', externalRef })))).to.equal(
      'external_ref_taken',
    );
    const other = await create({ name: 'Other' });
    const change = { customerId: other.customerId, externalRef, updateMask: { paths: ['external_ref'] } };
    expect(codeOf(await failure(customers.updateCustomer(change)))).to.equal('external_ref_taken');
  });

  it('is created once for an idempotency key, and another request with the key is refused', async () => {
    const request = {
      name: 'Once',
      email: 'once@example.com',
      externalRef: 'once',
      idempotencyKey: 'order-1',
    };
    const made = await Promise.all([1, 2, 3].map(() => create(request)));
    expect(new Set(made.map(({ customerId }) => customerId))).to.have.lengthOf(1);
    expect((await create(request)).customerId).to.equal(made[0]?.customerId);
    const error = await failure(customers.createCustomer({ ...request, name: 'Twice' }));
    expect(codeOf(error)).to.equal('idempotency_key_reused');
  });

  it('changes only in the fields of the mask', async () => {
    const { customerId } = await create({
      name: 'Old',
      email: 'old@example.com',
      metadata: { a: '1', b: '2' },
    });
    const update = async (paths: string[], values: object) =>
      (await customers.updateCustomer({ customerId, ...values, updateMask: { paths } })).customer;
    expect(await update(['name'], { name: 'New', email: 'x@example.com' })).to.include({
      name: 'New',
      email: 'old@example.com',
    });
    expect(
      (await update(['metadata.b', 'metadata.c'], { metadata: { b: '3', c: '4' } }))?.metadata,
    ).to.deep.equal({ a: '1', b: '3', c: '4' });
    expect((await update(['metadata.a'], {}))?.metadata).to.deep.equal({ b: '3', c: '4' });
    expect((await update(['metadata', 'email'], {}))?.metadata).to.deep.equal({});
    expect((await update(['name'], { name: 'New' }))?.email).to.equal(undefined);
    const refused = async (paths: string[], values: object = {}) =>
      codeOf(await failure(customers.updateCustomer({ customerId, ...values, updateMask: { paths } })));
    expect(await refused([])).to.equal('update_mask_invalid');
    expect(await refused(['created_at'])).to.equal('update_mask_invalid');
    expect(await refused(['name'])).to.equal('update_mask_invalid');
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`m${n}`, '']));
    await update(['metadata'], { metadata: many });
    expect(await refused(['metadata.more'], { metadata: { more: '' } })).to.equal('too_many');
  });

  it('with the email as its name gets the new email as its name, until it has one of its own', async () => {
    const { licenses } = await hub.admin.issueLicenses({
      app: await createApp(hub.admin),
      customerEmail: 'only@example.com',
    });
    const customerId = licenses[0]?.license?.customerId ?? '';
    const update = async (values: { name?: string; email?: string }) =>
      (await customers.updateCustomer({ customerId, ...values, updateMask: { paths: Object.keys(values) } }))
        .customer;
    expect(await update({ email: 'next@example.com' })).to.include({
      name: 'next@example.com',
      email: 'next@example.com',
    });
    const { license } = await hub.admin.getLicense({ licenseId: licenses[0]?.license?.licenseId ?? '' });
    expect(license?.customer).to.equal('next@example.com');
    expect(await update({ name: 'Ada', email: 'third@example.com' })).to.include({ name: 'Ada' });
    expect(await update({ email: 'last@example.com' })).to.include({
      name: 'Ada',
      email: 'last@example.com',
    });
  });

  it('is found by a part of its name, email or reference, in any case', async () => {
    const { customerId } = await create({
      name: 'Zoë Quartz',
      email: 'Z.Quartz@Needle.example',
      externalRef: 'HAY/77%',
    });
    const found = async (search: string) =>
      (await customers.listCustomers({ search })).customers.map((each) => each.customerId);
    for (const search of ['quartz', 'ZOË', 'z.quartz@NEEDLE', 'hay/77%', 'oë', '7%']) {
      expect(await found(search), search).to.deep.equal([customerId]);
    }
    for (const search of ['quart_', 'hay%', 'QuartzZ', 'Zoë Quartz\\', 'xq']) {
      expect(await found(search), search).to.deep.equal([]);
    }
    const by = async (filter: object) => (await customers.listCustomers(filter)).customers.length;
    expect(await by({ email: 'z.quartz@needle.EXAMPLE' })).to.equal(1);
    expect(await by({ email: 'quartz@needle.example' })).to.equal(0);
    expect(await by({ externalRef: 'HAY/77%' })).to.equal(1);
    expect(await by({ externalRef: 'hay/77%' })).to.equal(0);
  });

  it('is listed newest first, a page at a time, and by app', async () => {
    const app = await createApp(hub.admin);
    for (const customer of ['Paged 1', 'Paged 2', 'Paged 3'])
      await issueLicense(hub.admin, { app, customer });
    const first = await customers.listCustomers({ app, pageSize: 2 });
    expect(first.customers.map(({ name }) => name)).to.deep.equal(['Paged 3', 'Paged 2']);
    const next = await customers.listCustomers({ app, pageSize: 2, pageToken: first.nextPageToken });
    expect(next.customers.map(({ name }) => name)).to.deep.equal(['Paged 1']);
    expect(next.nextPageToken).to.equal('');
    expect(codeOf(await failure(customers.listCustomers({ app: 'no-such-app' })))).to.equal('app_unknown');
  });

  it('appears in the audit log with values that only listing opens', async () => {
    const audit = createClient(AuditService, hub.transport);
    const { customerId } = await create({ name: 'Sealed Name', email: 'sealed@example.com' });
    await customers.updateCustomer({ customerId, name: 'Second Name', updateMask: { paths: ['name'] } });
    const { entries } = await audit.listAuditEntries({ subject: customerId });
    expect(entries.map(({ action }) => action)).to.deep.equal(['customer.update', 'customer.create']);
    expect(entries[0]?.before).to.deep.equal({ name: 'Sealed Name' });
    expect(entries[0]?.after).to.deep.equal({ name: 'Second Name' });
    expect(entries[1]?.after).to.include({
      name: 'Sealed Name',
      email: 'sealed@example.com',
      externalRef: null,
    });
    expect(entries[1]?.auditEntryId).to.match(/^aud_/);
    const stored = JSON.stringify(await query(hub.databaseUrl, 'select before, after from audit_entry'));
    expect(stored).to.contain('"sealed"');
    expect(stored).not.to.match(/Sealed Name|sealed@example|Second Name/);
    for await (const { entries: exported } of audit.exportAuditLog({})) {
      expect(JSON.stringify(exported.map(({ entry }) => entry?.after))).not.to.contain('sealed@example');
    }
    expect((await audit.verifyAuditLog({})).ok).to.equal(true);
  });

  it('that a license names inline is recorded, and found again', async () => {
    const app = await createApp(hub.admin);
    const issue = async () => {
      const { licenses } = await hub.admin.issueLicenses({ app, customer: 'Inline Person' });
      return licenses[0]?.license?.customerId ?? '';
    };
    const customerId = await issue();
    expect(await issue()).to.equal(customerId);
    const { entries } = await createClient(AuditService, hub.transport).listAuditEntries({
      subject: customerId,
    });
    expect(entries.map(({ action, after }) => [action, after?.['name']])).to.deep.equal([
      ['customer.create', 'Inline Person'],
    ]);
  });

  it('of another app stays unknown to a limited token that names it inline', async () => {
    const [own, other] = [await createApp(hub.admin), await createApp(hub.admin)];
    await issueLicense(hub.admin, { app: other, customer: 'Shared Name' });
    const tokens = createClient(TokenService, hub.transport);
    const { token } = await tokens.createToken({ role: Role.SERVICE, apps: [own] });
    const shop = createClient(LicenseAdminService, transportTo(hub.rpcUrl, token));
    const issue = async () => {
      const { licenses } = await shop.issueLicenses({ app: own, customer: 'Shared Name' });
      return licenses[0]?.license?.customerId ?? '';
    };
    const customerId = await issue();
    expect(await issue()).to.equal(customerId);
    const { customers: all } = await customers.listCustomers({ search: 'Shared Name' });
    expect(all).to.have.lengthOf(2);
    const seen = createClient(CustomerService, transportTo(hub.rpcUrl, token));
    const { customers: visible } = await seen.listCustomers({ app: own, search: 'Shared Name' });
    expect(visible.map((each) => each.customerId)).to.deep.equal([customerId]);
    const hidden = all.find((each) => each.customerId !== customerId)?.customerId ?? '';
    expect(codeOf(await failure(seen.getCustomer({ customerId: hidden })))).to.equal('customer_unknown');
  });
});

function customersOf(hub: TestHub) {
  return createClient(CustomerService, hub.transport);
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => undefined,
    (reason) => ConnectError.from(reason),
  );
  if (error === undefined) throw new Error('the call succeeded');
  return error;
}

function codeOf(error: ConnectError): string | undefined {
  return error.findDetails(ErrorDetailSchema)[0]?.code;
}
