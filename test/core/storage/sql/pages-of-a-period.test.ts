// Lists of a span of time: in the order of that time, over any number of pages.

import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import { AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { createSession, type Payments, pay, startPayments } from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';

type Listed = { readonly id: string; readonly at: number };
type Page = { readonly items: readonly Listed[]; readonly nextPageToken: string };

describe('a list of a period', () => {
  let payments: Payments;
  let audit: Client<typeof AuditService>;
  let paid: string[];
  before(async () => {
    payments = await startPayments();
    audit = createClient(AuditService, payments.hub.transport);
    const created: ChargeSession[] = [];
    for (let number = 0; number < 5; number++) created.push(await createSession(payments, 'gateway_one'));
    // In another order than they were created in.
    const order = [3, 0, 4, 2, 1];
    paid = order.map((number) => created[number]?.sessionId ?? '');
    for (const number of order) {
      const session = created[number];
      if (session) await pay(payments, session);
    }
  });
  after(() => payments.stop());

  const from = { seconds: 0n, nanos: 0 };
  const to = { seconds: 4_000_000_000n, nanos: 0 };
  const usage = async (pageToken: string, pageSize: number): Promise<Page> => {
    const { usageLogs, nextPageToken } = await payments.admin.listUsageLogs({ pageSize, pageToken });
    return { items: usageLogs.map((log) => ({ id: log.sessionId, at: ms(log.settledAt) })), nextPageToken };
  };
  const sessions = async (pageToken: string, pageSize: number): Promise<Page> => {
    const span = { createdFrom: from, createdTo: to };
    const listed = await payments.sessions.listChargeSessions({ ...span, pageSize, pageToken });
    const items = listed.sessions.map((session) => ({ id: session.sessionId, at: ms(session.createdAt) }));
    return { items, nextPageToken: listed.nextPageToken };
  };
  const entries = async (pageToken: string, pageSize: number): Promise<Page> => {
    const listed = await audit.listAuditEntries({ since: from, until: to, pageSize, pageToken });
    const items = listed.entries.map((entry) => ({ id: entry.auditEntryId, at: ms(entry.at) }));
    return { items, nextPageToken: listed.nextPageToken };
  };

  for (const [what, read] of Object.entries({ usage, sessions, entries })) {
    it(`returns all of its ${what} on one page, the latest first`, async () => {
      const whole = (await read('', 1_000)).items;
      const paged: Listed[] = [];
      for (let token = ''; ; ) {
        const page = await read(token, 2);
        paged.push(...page.items);
        token = page.nextPageToken;
        if (token === '') break;
      }
      expect(paged).to.deep.equal(whole);
      expect(new Set(paged.map(({ id }) => id))).to.have.property('size', paged.length);
      expect(paged.length).to.be.above(4);
      expect(paged.map(({ at }) => at)).to.deep.equal(
        [...paged.map(({ at }) => at)].sort((one, other) => other - one),
      );
    });
  }

  it('returns the usage in the order of settlement', async () => {
    expect((await usage('', 1_000)).items.map(({ id }) => id)).to.deep.equal(paid.toReversed());
  });

  it('continues after a deleted item', async () => {
    const whole = (await usage('', 1_000)).items;
    const first = await usage('', 2);
    const gone = first.items[1]?.id ?? '';
    await query(payments.hub.databaseUrl, 'delete from usage_log where id = $1', [parseId('chs', gone)]);
    expect((await usage(first.nextPageToken, 1_000)).items).to.deep.equal(whole.slice(2));
  });
});

function ms(timestamp: Timestamp | undefined): number {
  return Number(timestamp?.seconds) * 1_000 + Math.floor((timestamp?.nanos ?? 0) / 1_000_000);
}
