// A limited token tries ids outside its scope as page tokens, and page tokens of other callers.
import { createClient, type Transport } from '@connectrpc/connect';
import { expect } from 'chai';
import { formatId, newUuid } from '../../core/ids.ts';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { failureOf } from '../core/rpc/failure-of.ts';
import { transportTo } from '../support/hub/hub.ts';
import { createApp } from '../support/hub/license.ts';
import { createSession, type Payments, startPayments } from '../support/hub/payment.ts';

const ALL = { createdFrom: { seconds: 0n, nanos: 0 } };

describe('attack: page tokens as an oracle', () => {
  let payments: Payments;
  let own: string;
  let foreign: string;
  let limited: Transport;
  before(async () => {
    payments = await startPayments();
    for (let number = 0; number < 3; number++) {
      own = (await createSession(payments, 'gateway_one')).sessionId;
      foreign = (await createSession(payments, 'gateway_two')).sessionId;
    }
    limited = await tokenFor({ slots: ['store'] });
  });
  after(() => payments.stop());

  it('reveal nothing about ids: known, foreign and invented ones get the same response', async () => {
    const ids = [
      own,
      foreign,
      formatId('chs', newUuid()),
      `0.${foreign}`,
      `${Date.now()}.${own}`,
      'nonsense',
    ];
    for (const filter of [{}, ALL]) {
      const answers = await Promise.all(ids.map((pageToken) => refusalOf(limited, { ...filter, pageToken })));
      expect(new Set(answers)).to.have.property('size', 1);
      expect(answers[0]).to.include('page_token_invalid');
    }
  });

  it('cannot be used with another query, list, scope or filter', async () => {
    const unlimited = payments.hub.transport;
    for (const filter of [{}, ALL]) {
      const mine = await firstPage(limited, { slot: 'store', ...filter });
      const others = [
        await firstPage(unlimited, { slot: 'store', ...filter }),
        await firstPage(unlimited, { slot: 'wallet', ...filter }),
        await firstPage(await tokenFor({ slots: ['store', 'wallet'] }), { slot: 'store', ...filter }),
        await firstPage(limited, { slot: 'store', ...filter, orderReference: 'ORD-1' }),
        await firstPage(limited, { slot: 'store', createdFrom: { seconds: 1n, nanos: 0 } }),
        await licensePage(),
      ];
      const answers = await Promise.all(
        others.map((pageToken) => refusalOf(limited, { ...filter, pageToken })),
      );
      expect(new Set(answers)).to.have.property('size', 1);
      expect(answers[0]).to.include('page_token_invalid');
      // Its own token is valid, also with another page size, and for another caller with the same scope.
      for (const by of [limited, await tokenFor({ slots: ['store'] })]) {
        const request = { slot: 'store', ...filter, pageToken: mine, pageSize: 100 };
        const next = await createClient(PaymentService, by).listChargeSessions(request);
        expect(next.sessions).to.have.length(2);
      }
    }
  });

  it('cannot be altered', async () => {
    const token = await firstPage(limited, { slot: 'store' });
    for (let at = 0; at < token.length; at += 7) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      if (changed === token) continue;
      expect(await refusalOf(limited, { pageToken: changed }), changed).to.include('page_token_invalid');
    }
  });

  async function tokenFor(scope: { slots: string[] }): Promise<Transport> {
    const tokens = createClient(TokenService, payments.hub.transport);
    const { token } = await tokens.createToken({ role: Role.VIEWER, ...scope });
    return transportTo(payments.hub.rpcUrl, token);
  }

  async function firstPage(by: Transport, filter: object): Promise<string> {
    const page = await createClient(PaymentService, by).listChargeSessions({ ...filter, pageSize: 1 });
    expect(page.nextPageToken).to.match(/^A[\w-]{1,298}$/);
    return page.nextPageToken;
  }

  async function licensePage(): Promise<string> {
    const licenses = createClient(LicenseAdminService, payments.hub.transport);
    for (let count = 0; count < 2; count++) await createApp(licenses);
    return (await licenses.listApps({ pageSize: 1 })).nextPageToken;
  }

  /** All of the refusal that a caller sees. */
  async function refusalOf(by: Transport, request: object): Promise<string> {
    const { listChargeSessions } = createClient(PaymentService, by);
    const error = await failureOf(listChargeSessions({ slot: 'store', ...request }));
    return JSON.stringify([error.code, error.message, error.findDetails(ErrorDetailSchema)]);
  }
});
