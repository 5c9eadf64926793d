// Every change leaves a row in the audit log: all RPCs of the contract are walked, and none may be forgotten.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { ActorKind, AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  startPayments,
} from '../../support/hub/payment.ts';
import { CHANGES } from '../access/changes.ts';
import { contractServices } from '../access/contract-services.ts';

/** RPCs that change nothing, by their names. */
const READS =
  /^(Get|List|Check|Watch|Inspect|Preview|Backtest|Fit|AuditFees|Read|Summarize|Test|Export|Verify|Server)/;
/** What customers and providers do by themselves is no change of an operator's. What it settles is recorded. */
const NOT_OPERATORS = [
  'LicenseService.Activate',
  'LicenseService.Deactivate',
  'CallbackService.ReceiveCallback',
  'OrderService.BuyOffer',
];
/** Health. */
const STANDARD = /^(grpc)\./;

describe('a change', () => {
  let payments: Payments;
  before(async () => {
    // No mail server listens at this port: mails stay in the queue.
    const mail = { smtpUrl: 'smtp://127.0.0.1:9', mailFrom: { name: '', address: 'shop@example.com' } };
    payments = await startPayments({ settings: mail });
  });
  after(() => payments.stop());

  it('is covered for each RPC that writes', async () => {
    const methods = (await contractServices())
      .filter(({ typeName }) => !STANDARD.test(typeName))
      .flatMap(({ name, methods }) => methods.map((method) => ({ rpc: `${name}.${method.name}`, method })));
    const changing = methods.filter(({ method }) => !READS.test(method.name)).map(({ rpc }) => rpc);
    expect(changing).to.have.members([...Object.keys(CHANGES), ...NOT_OPERATORS]);
  });

  for (const [rpc, { action, make }] of Object.entries(CHANGES)) {
    it(`by ${rpc} writes a row with actor, request, before and after`, async () => {
      const audit = createClient(AuditService, payments.hub.transport);
      const before = (await audit.listAuditEntries({ action, pageSize: 1_000 })).entries.length;
      await make(payments);
      const { entries } = await audit.listAuditEntries({ action, pageSize: 1_000 });
      expect(entries).to.have.length(before + 1);
      const [entry] = entries;
      expect(entry?.before ?? entry?.after).to.not.equal(undefined);
      expect(entry?.before).to.not.deep.equal(entry?.after ?? {});
      expect(entry).to.include({ actor: 'local admin', action, actorKind: ActorKind.TOKEN });
      expect(entry?.actorTokenId).to.equal(`tok_${payments.hub.token.split('_')[1]}`);
      expect(entry?.requestId).to.match(/^[0-9a-f-]{36}$/);
    });
  }

  it('by a provider is recorded with the resulting status', async () => {
    const session = await createSession(payments, 'gateway_one');
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    const audit = createClient(AuditService, payments.hub.transport);
    const subject = session.sessionId;
    const { entries } = await audit.listAuditEntries({ subject, action: 'charge_session.settle' });
    expect(entries).to.have.length(1);
    expect(entries[0]).to.deep.include({
      actor: 'settlement',
      actorKind: ActorKind.HUB,
      actorTokenId: '',
      before: { status: 'pending', verified: false },
    });
    expect(entries[0]?.after).to.include({ status: 'failed' });
  });
});
