// Erasing a customer: what it removes everywhere, and what it keeps.
import { createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { loadMasterKeyFile } from '../../../core/storage/secrets/key-ring-file.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { type ChargeSession, ChargeStatus, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { unpackBackup } from '../../support/hub/backup-file.ts';
import { type Canaries, createCanaries, dumpOf } from '../../support/hub/canaries.ts';
import { issueLicense } from '../../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  type Payments,
  payQuietly,
  SLOTS,
  startPayments,
  untilStatus,
} from '../../support/hub/payment.ts';
import { activate } from '../../support/network/rest.ts';
import { query, waitsForLock, withClient } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { startProvider } from '../payment/providers/fake-provider.ts';

describe('erasing a customer', () => {
  let payments: Payments;
  let canaries: Canaries;
  let customerId: string;
  let licenseId: string;
  let licenseKey: string;
  let sessionId: string;
  let otherSessionId: string;
  const log: string[] = [];
  let aheadMs = 0;

  before(async () => {
    const sink = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk));
        done();
      },
    });
    payments = await startPayments({ log: sink, clock: () => new Date(Date.now() + aheadMs) });
    canaries = createCanaries();
    const customers = createClient(CustomerService, payments.hub.transport);
    const formerEmail = `${canaries.make()}@example.com`;
    const email = `${canaries.make()}@example.com`;
    const { customer } = await customers.createCustomer({
      name: canaries.make(),
      email: formerEmail,
      externalRef: canaries.make(),
      metadata: { note: canaries.make() },
      idempotencyKey: 'create-1',
    });
    customerId = customer?.customerId ?? '';
    await customers.updateCustomer({
      customerId,
      name: canaries.make(),
      email,
      metadata: { note: canaries.make() },
      updateMask: { paths: ['name', 'email', 'metadata'] },
    });
    const license = await issueLicense(payments.hub.admin, { customer: 'Somebody Else' });
    ({ licenseId, licenseKey } = license);
    // The license of the customer; transfers have tests of their own.
    await query(
      payments.hub.databaseUrl,
      `update license set customer_id = (select id from customer where email = $1)`,
      [email],
    );
    await activate(payments.hub.gatewayUrl, licenseKey, 'machine-1');
    sessionId = await payWith(email.toUpperCase());
    await payWith(formerEmail);
    otherSessionId = await payWith('somebody@example.com');
  });
  after(() => payments.stop());

  /** A paid session of a customer with this email, and a callback with personal values. */
  async function payWith(email: string): Promise<string> {
    const { session } = await payments.sessions.createChargeSession({
      slot: SLOTS.gateway_one,
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
      customer: { name: canaries.make(), email, phone: '01700000000', address: canaries.make() },
      metadata: { gift: canaries.make() },
      idempotencyKey: `pay ${email.slice(0, 3)} ${email.length} ${Math.random()}`,
    });
    if (session === undefined) throw new Error('no session was created');
    const proof = payQuietly(payments, session);
    const personal = { cus_name: canaries.make(), card_type: canaries.make(), error: email };
    await callBack(payments.hub.gatewayUrl, 'gateway_one', {
      ...callbackFields(session, 'paid', proof),
      ...personal,
    });
    return session.sessionId;
  }

  it('finds its sessions by indexes', async () => {
    const client = new pg.Client({ connectionString: payments.hub.databaseUrl });
    await client.connect();
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query(
      `explain select id from charge_session
       where lower(customer->>'email') = any(array['a', 'b'])
          or id = any(array(select session_id from purchase where customer_id = gen_random_uuid()))
       order by id for update`,
    );
    await client.end();
    const indexes = ['charge_session_customer_email_idx', 'purchase_customer_idx', 'charge_session_pkey'];
    for (const index of indexes) expect(JSON.stringify(rows)).to.contain(index);
  });

  it('leaves no personal value in the database, in the export of the audit log, or in the log', async () => {
    const { hub } = payments;
    expect(canaries.found(await dumpOf(hub.databaseUrl))).not.to.deep.equal([]);
    const keptNames = await namesOf(otherSessionId);
    const customers = createClient(CustomerService, hub.transport);
    const { customer } = await customers.eraseCustomer({ customerId });
    expect(customer).to.include({ name: '', customerId });
    expect(customer?.email).to.equal(undefined);
    expect(customer?.erasedAt).not.to.equal(undefined);

    const left = (text: string) => canaries.found(text).filter((value) => !keptNames.includes(value));
    expect(left(await dumpOf(hub.databaseUrl)), 'in the database').to.deep.equal([]);
    expect(left(await exportOf()), 'in the export').to.deep.equal([]);
    expect(left(log.join('')), 'in the log').to.deep.equal([]);
    expect(left(await filesIn(hub.dataDir)), 'in the data directory').to.deep.equal([]);
  });

  it('leaves no personal value in a later backup', async () => {
    const { hub } = payments;
    const keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    const path = join(hub.dataDir, 'later.age');
    const encryption = { passphrase: 'a long passphrase', logN: 2 };
    const address = { url: hub.databaseUrl };
    const options = { address, keys, hubVersion: '0.0.0-test', encryption, clock: systemClock };
    const kept = await namesOf(otherSessionId);
    await takeBackup(options, createWriteStream(path));
    const files = await unpackBackup(path, encryption.passphrase);
    const text = files.map(({ content }) => content.toString('latin1')).join('\n');
    expect(text).to.contain('somebody@example.com');
    expect(canaries.found(text).filter((value) => !kept.includes(value))).to.deep.equal([]);
  });

  it('keeps money, seats and licenses', async () => {
    const { hub, admin, sessions } = payments;
    const { session } = await sessions.getChargeSession({ sessionId });
    expect(session?.status).to.equal(ChargeStatus.SUCCESS);
    expect(session?.amount?.minorUnits).to.equal(10_000n);
    expect(session?.customer?.email ?? '').to.equal('');
    const { license } = await hub.admin.getLicense({ licenseId });
    expect(license).to.include({ state: LicenseState.ACTIVE, customerId });
    expect(license?.customer).to.equal(undefined);
    expect(license?.seats?.used).to.equal(1);
    const { callbacks } = await admin.listCallbacks({ sessionId });
    expect(Object.keys(callbacks[0]?.fields ?? {}).sort()).to.deep.equal(['status', 'tran_id', 'val_id']);
    const activation = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(JSON.stringify(activation)).not.to.contain('"customer"');
  });

  it('keeps the sessions of other customers', async () => {
    const { session } = await payments.sessions.getChargeSession({ sessionId: otherSessionId });
    expect(session?.customer?.email).to.equal('somebody@example.com');
  });

  it('shows erased values as erased in the audit log, which still verifies', async () => {
    const audit = createClient(AuditService, payments.hub.transport);
    const { entries } = await audit.listAuditEntries({ subject: customerId });
    expect(entries.map(({ action }) => action)).to.deep.equal([
      'customer.erase',
      'customer.update',
      'customer.create',
    ]);
    expect(entries[2]?.after).to.deep.equal({
      name: 'erased',
      email: 'erased',
      externalRef: 'erased',
      metadata: 'erased',
    });
    expect(entries[0]?.detail).to.deep.equal({ events: 0, sessions: 2, callbacks: 2 });
    expect((await audit.verifyAuditLog({})).ok).to.equal(true);
  });

  it('finds sessions by emails with letters that JavaScript and PostgreSQL lower differently', async () => {
    const { hub, sessions } = payments;
    const customers = createClient(CustomerService, hub.transport);
    const emails = ['ΝΙΚΟΣ@example.gr', 'ΑΛΕΞΙΟΣ@example.gr'] as const;
    const { customer } = await customers.createCustomer({ name: 'Nikos', email: emails[0] });
    const { customerId = '' } = customer ?? {};
    await customers.updateCustomer({ customerId, email: emails[1], updateMask: { paths: ['email'] } });
    const paid = [await payWith(emails[0]), await payWith(emails[1])];
    await customers.eraseCustomer({ customerId });
    const audit = createClient(AuditService, hub.transport);
    const { entries } = await audit.listAuditEntries({ subject: customerId, action: 'customer.erase' });
    expect(entries[0]?.detail).to.deep.equal({ events: 0, sessions: 2, callbacks: 2 });
    for (const sessionId of paid) {
      const { session } = await sessions.getChargeSession({ sessionId });
      expect(session?.customer?.email ?? '').to.equal('');
    }
  });

  it('leaves no personal value that the provider repeated in an answer', async () => {
    const { hub, admin, sessions } = payments;
    const customer = {
      name: canaries.make(),
      email: `${canaries.make()}@example.com`,
      address: canaries.make(),
    };
    const repeated = `${customer.name.toUpperCase()} <${customer.email}>, ${customer.address}`;
    let merchantInvoice = '';
    const replies: Record<string, (asked: string) => object> = {
      '/token/grant': () => ({ id_token: 'GRANTED', expires_in: 3_600 }),
      '/create': () => ({ paymentID: `TR${merchantInvoice}`, bkashURL: 'http://pay.example' }),
    };
    const provider = await startProvider(({ path, everything }) => {
      if (path === '/create') merchantInvoice = /"merchantInvoiceNumber":"(\w+)"/.exec(everything)?.[1] ?? '';
      return { body: JSON.stringify({ statusCode: '0000', ...replies[path]?.(everything) }) };
    });
    await admin.addSlot({
      name: 'talkative',
      gateway: 'gateway_two',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: provider.url,
      credentials: payments.simulator.credentials.gateway_two,
    });
    const create = async () => {
      const amount = { minorUnits: 10_000n, currency: 'BDT' };
      const { session } = await sessions.createChargeSession({ slot: 'talkative', amount, customer });
      return session ?? expect.fail();
    };
    const comeBack = (session: ChargeSession, paymentID = session.providerPaymentId) =>
      callBack(hub.gatewayUrl, 'gateway_two', { ...callbackFields(session, 'paid'), paymentID });

    // The provider refuses to execute the payment.
    const refused = await create();
    replies['/execute'] = () => ({ statusCode: '2023', statusMessage: repeated });
    await comeBack(refused);
    await untilStatus(payments, refused, 'failed');
    // The provider confirms a payment, and does not answer about another one of the same session.
    const paid = await create();
    const [paymentID, trxID] = [paid.providerPaymentId, 'TRX1'];
    const money = { amount: '100.00', currency: 'BDT' };
    const completed = { transactionStatus: 'Completed', paymentID, trxID, merchantInvoice, ...money };
    replies['/execute'] = () => completed;
    replies['/payment/status'] = (asked) =>
      asked.includes('TRAGAIN') ? { statusCode: '9999', statusMessage: repeated } : completed;
    await comeBack(paid);
    await untilStatus(payments, paid, 'success');
    await comeBack(paid, 'TRAGAIN');
    await sessions.recheckChargeSession({ sessionId: paid.sessionId });
    await provider.close();

    for (const { sessionId } of [refused, paid]) {
      const { session, verifications } = await sessions.inspectChargeSession({ sessionId });
      const details = verifications.map(({ detail }) => detail);
      expect(details.join('\n')).to.contain('*** <***>, ***');
      expect(canaries.found(JSON.stringify([session?.statusReason, details]).toLowerCase())).to.deep.equal(
        [],
      );
    }
    expect(await exportOf()).to.contain('the provider answered 2023 *** <***>, ***');
    const kept = await namesOf(otherSessionId);
    const left = canaries.found((await exportOf()).toLowerCase());
    expect(left.filter((value) => !kept.includes(value))).to.deep.equal([]);
  });

  it('is final: the customer cannot change, and a second erasure changes nothing', async () => {
    const customers = createClient(CustomerService, payments.hub.transport);
    const before = await customers.getCustomer({ customerId });
    const again = await customers.eraseCustomer({ customerId });
    expect(again.customer).to.deep.equal(before.customer);
    const change = { customerId, name: 'Back', updateMask: { paths: ['name'] } };
    const failure = await customers.updateCustomer(change).catch((error) => String(error));
    expect(failure).to.contain('erased');
    const request = { name: 'x', idempotencyKey: 'create-1' };
    expect(await customers.createCustomer(request).catch((error) => String(error))).to.contain(
      'idempotency key',
    );
  });

  it('does not break the audit log if it takes more than ten minutes', async () => {
    const { databaseUrl, transport } = payments.hub;
    const customers = createClient(CustomerService, transport);
    const create = async (name: string): Promise<string> => {
      const { customer } = await customers.createCustomer({ name });
      return customer?.customerId ?? '';
    };
    const erased = await create('Slow');
    await withClient(databaseUrl, async (client) => {
      await client.query(`begin; select from hub_lock where name = 'event_counter' for update`);
      const erasing = customers.eraseCustomer({ customerId: erased });
      erasing.catch(() => {}); // handled below
      await until(
        () => waitsForLock(databaseUrl, `from hub_lock where name = 'event_counter'`),
        'the erasure waits for the lock of the sequencer',
      );
      aheadMs = 11 * 60_000;
      const later = await create('Later');
      await until(async () => {
        const linked = 'select from audit_link join audit_entry on id = entry_id where subject = $1';
        return (await query(databaseUrl, linked, [later])).length === 1;
      }, 'a later entry is linked');
      await client.query('rollback');
      await erasing;
    });
    const audit = createClient(AuditService, transport);
    const { entries } = await audit.listAuditEntries({ subject: erased, action: 'customer.erase' });
    expect(entries).to.have.length(1);
    expect((await audit.verifyAuditLog({})).broken).to.equal(undefined);
  });

  /** The personal values of a session that stays. */
  async function namesOf(kept: string): Promise<string[]> {
    const { session } = await payments.sessions.getChargeSession({ sessionId: kept });
    const { callbacks } = await payments.admin.listCallbacks({ sessionId: kept });
    return canaries.found(
      JSON.stringify([session?.customer, session?.metadata, callbacks.map(({ fields }) => fields)]),
    );
  }

  async function exportOf(): Promise<string> {
    const parts: string[] = [];
    for await (const { entries } of createClient(AuditService, payments.hub.transport).exportAuditLog({})) {
      parts.push(...entries.map(({ entry }) => JSON.stringify([entry?.before, entry?.after, entry?.detail])));
    }
    return parts.join('\n');
  }
});

async function filesIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')),
  );
  return texts.join('\n');
}
