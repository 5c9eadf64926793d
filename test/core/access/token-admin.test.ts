// Service tokens: created, shown once, listed, limited in time, revoked.
import { Code, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { createSession, startPayments } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { failureOf } from '../rpc/failure-of.ts';

const DAY_MS = 86_400_000;

describe('service tokens', () => {
  let now: Date;
  let hub: TestHub;
  beforeEach(async () => {
    now = new Date();
    hub = await startHub({ clock: () => now });
  });
  afterEach(() => hub.stop());

  const tokens = () => createClient(TokenService, hub.transport);
  const whoIs = (token: string, at = hub) =>
    createClient(AccessService, transportTo(at.rpcUrl, token)).getCaller({});
  const create = async (request: Parameters<ReturnType<typeof tokens>['createToken']>[0]) => {
    const { serviceToken, token } = await tokens().createToken(request);
    return { token, tokenId: serviceToken?.tokenId ?? '' };
  };
  const codeOf = async (call: Promise<unknown>) => {
    const error = await failureOf(call);
    const [detail] = error.findDetails(ErrorDetailSchema);
    return detail === undefined ? Code[error.code] : `${detail.code} ${detail.field}`;
  };

  it('identify their owner, and carry their id', async () => {
    const { token, tokenId } = await create({ name: 'shop', role: Role.SERVICE });
    expect(token.startsWith(`hub_${tokenId.slice('tok_'.length)}_`)).to.equal(true);
    expect(await whoIs(token)).to.include({ tokenId, name: 'shop', role: Role.SERVICE });
  });

  it('are named after their role by default', async () => {
    const { token } = await create({ role: Role.VIEWER });
    expect(await whoIs(token)).to.include({ name: 'viewer' });
  });

  it('are random, and not stored in the database', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create({ role: Role.VIEWER })));
    const secrets = made.map(({ token }) => token.slice(-43));
    expect(new Set(secrets)).to.have.property('size', 20);
    const rows = await query<{ line: string }>(
      hub.databaseUrl,
      'select t::text as line from service_token t',
    );
    const audit = await query<{ line: string }>(hub.databaseUrl, 'select a::text as line from audit_entry a');
    for (const secret of secrets) {
      for (const { line } of [...rows, ...audit]) expect(line).to.not.include(secret);
    }
  });

  it('are valid only as a whole: the id alone proves nothing', async () => {
    const one = await create({ role: Role.ADMIN });
    const other = await create({ role: Role.VIEWER });
    const mixed = one.token.slice(0, 31) + other.token.slice(31);
    const changed = one.token.slice(0, -1) + (one.token.endsWith('A') ? 'E' : 'A');
    for (const token of [mixed, changed, one.token.slice(0, -1), `${one.token}A`, one.tokenId]) {
      expect(await codeOf(whoIs(token)), token).to.equal('Unauthenticated');
    }
  });

  it('expire', async () => {
    const { token } = await create({ role: Role.VIEWER, expiresAt: inMs(DAY_MS) });
    expect((await whoIs(token)).role).to.equal(Role.VIEWER);
    now = new Date(now.getTime() + DAY_MS);
    expect(await codeOf(whoIs(token))).to.equal('Unauthenticated');
  });

  it('are refused by every hub after they are revoked', async () => {
    const beside = await startHub({ beside: hub });
    try {
      const { token, tokenId } = await create({ role: Role.VIEWER });
      await whoIs(token, beside);
      await tokens().revokeToken({ tokenId });
      for (const at of [hub, beside]) expect(await codeOf(whoIs(token, at))).to.equal('Unauthenticated');
    } finally {
      await beside.stop();
    }
  });

  it('are listed newest first without their secrets; revoked and expired ones only on request', async () => {
    const app = await createApp(hub.admin);
    const kept = await create({ name: 'kept', role: Role.OPERATOR, apps: [app] });
    const expired = await create({ name: 'expired', role: Role.VIEWER, expiresAt: inMs(DAY_MS) });
    const revoked = await create({ name: 'revoked', role: Role.VIEWER });
    await tokens().revokeToken({ tokenId: revoked.tokenId });
    now = new Date(now.getTime() + 2 * DAY_MS);
    const list = async (includeEnded: boolean) =>
      (await tokens().listTokens({ includeEnded })).serviceTokens.map(({ name }) => name);
    expect(await list(false)).to.deep.equal(['kept', 'local admin']);
    expect(await list(true)).to.deep.equal(['revoked', 'expired', 'kept', 'local admin']);
    const page = await tokens().listTokens({ includeEnded: true, pageSize: 2 });
    const next = await tokens().listTokens({
      includeEnded: true,
      pageSize: 2,
      pageToken: page.nextPageToken,
    });
    expect(next.serviceTokens.map(({ name }) => name)).to.deep.equal(['kept', 'local admin']);
    const [shown] = next.serviceTokens;
    expect(shown).to.include({ role: Role.OPERATOR, tokenId: kept.tokenId });
    expect(shown?.apps).to.deep.equal([app]);
    const text = JSON.stringify([page, next], (_, value) => (typeof value === 'bigint' ? '' : value));
    for (const { token } of [kept, expired, revoked]) expect(text).to.not.include(token.slice(-43));
  });

  it('record when they were last used, to the minute', async () => {
    const { token, tokenId } = await create({ role: Role.VIEWER });
    const lastUsed = async () => {
      const { serviceTokens } = await tokens().listTokens({});
      return serviceTokens.find((each) => each.tokenId === tokenId)?.lastUsedAt?.seconds;
    };
    expect(await lastUsed()).to.equal(undefined);
    await whoIs(token);
    const first = BigInt(Math.floor(now.getTime() / 1000));
    await until(async () => (await lastUsed()) === first, 'the first use is on record');
    now = new Date(now.getTime() + 59_000);
    await whoIs(token);
    expect(await lastUsed()).to.equal(first);
    now = new Date(now.getTime() + 1_000);
    await whoIs(token);
    await until(async () => (await lastUsed()) === first + 60n, 'a later use is on record');
  });

  it('are recorded in the audit log when created and revoked', async () => {
    const { tokenId } = await create({ name: 'shop', role: Role.SERVICE });
    await tokens().revokeToken({ tokenId });
    await tokens().revokeToken({ tokenId });
    const rows = await query<{ actor: string; action: string }>(
      hub.databaseUrl,
      `select actor, action from audit_entry where subject = $1 order by id`,
      [tokenId],
    );
    expect(rows).to.deep.equal([
      { actor: 'local admin', action: 'token.create' },
      { actor: 'local admin', action: 'token.revoke' },
    ]);
  });

  it('are refused with the wrong field', async () => {
    const viewer = { role: Role.VIEWER };
    const past = inMs(0);
    expect(await codeOf(create({ ...viewer, apps: ['missing'] }))).to.equal('app_unknown apps');
    expect(await codeOf(create({ ...viewer, slots: ['missing'] }))).to.equal('slot_unknown slots');
    expect(await codeOf(create({ ...viewer, expiresAt: past }))).to.equal('expiry_invalid expiresAt');
    expect(await codeOf(create({ role: Role.UNSPECIFIED }))).to.equal('InvalidArgument');
    expect(await codeOf(create({ ...viewer, certificateSubject: 'shop' }))).to.equal('InvalidArgument');
    expect(await codeOf(create({ ...viewer, certificateSubject: 'CN=a, O=b' }))).to.equal('InvalidArgument');
    for (const tokenId of ['tok_nonsense', 'tok_01k8e7qk3vf2tb5s0w9m4x6ydz']) {
      expect(await codeOf(tokens().revokeToken({ tokenId }))).to.equal('token_unknown tokenId');
    }
    expect((await tokens().listTokens({ includeEnded: true })).serviceTokens).to.have.length(1);
  });

  it('have unique certificate subjects', async () => {
    const certificateSubject = String.raw`CN=shop\, west,O=Example`;
    const first = await create({ role: Role.SERVICE, certificateSubject });
    expect(first.token).to.equal('');
    expect(await codeOf(create({ role: Role.ADMIN, certificateSubject }))).to.equal(
      'certificate_subject_taken certificateSubject',
    );
    await tokens().revokeToken({ tokenId: first.tokenId });
    await create({ role: Role.VIEWER, certificateSubject });
  });

  it('always leave one admin, even with concurrent revocations', async () => {
    const [local] = (await tokens().listTokens({})).serviceTokens;
    const revoke = (tokenId = '') => tokens().revokeToken({ tokenId });
    expect(await codeOf(revoke(local?.tokenId))).to.equal('last_admin tokenId');

    const app = await createApp(hub.admin);
    await create({ role: Role.ADMIN, apps: [app] });
    const brief = await create({ role: Role.ADMIN, expiresAt: inMs(1) });
    now = new Date(now.getTime() + 1);
    expect(await codeOf(revoke(local?.tokenId))).to.equal('last_admin tokenId');
    await revoke(brief.tokenId);

    const second = await create({ role: Role.ADMIN });
    const outcomes = await Promise.allSettled([revoke(local?.tokenId), revoke(second.tokenId)]);
    expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
  });

  function inMs(ms: number) {
    const at = now.getTime() + ms;
    return { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 };
  }
});

describe('a revoked token', () => {
  it('ends the streams that it opened, at the next message or without one', async () => {
    const payments = await startPayments();
    try {
      const { hub } = payments;
      const tokens = createClient(TokenService, hub.transport);
      const { token, serviceToken } = await tokens.createToken({ role: Role.VIEWER });
      const session = await createSession(payments, 'gateway_one');
      const watcher = createClient(PaymentService, transportTo(hub.rpcUrl, token));
      const watch = async (id: string) => {
        const stream = watcher.watchChargeSession({ sessionId: id })[Symbol.asyncIterator]();
        expect((await stream.next()).value?.session?.sessionId).to.equal(id);
        return stream;
      };
      const stream = await watch(session.sessionId);
      const silent = await watch((await createSession(payments, 'gateway_one')).sessionId);
      await tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
      const next = stream.next();
      const nothing = silent.next();
      payments.simulator.pay(session.providerPaymentId);
      expect(await failureOf(next)).to.have.property('code', Code.Unauthenticated);
      expect(await failureOf(nothing)).to.have.property('code', Code.Unauthenticated);
    } finally {
      await payments.stop();
    }
  });
});
