// The RPC port with TLS: authentication, and the replacement of certificates while it serves.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import * as tls from 'node:tls';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Role } from '../../../../gen/hub/access/v1/access_pb.ts';
import {
  AccessService,
  GetCallerRequestSchema,
  type GetCallerResponse,
  GetCallerResponseSchema,
} from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { ActorKind, AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../../../gen/hub/access/v1/token_service_pb.ts';
import { LicenseAdminService } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import {
  type Certificates,
  type Issuer,
  makeCertificates,
  type Pair,
  replacePair,
  subjectOf,
} from '../../../support/network/certificates.ts';
import { until } from '../../../support/until.ts';
import { failureOf } from '../failure-of.ts';
import { run } from './run-command.ts';

describe('the RPC port with TLS', () => {
  let certificates: Certificates;
  let issuer: Issuer;
  let server: Pair;
  let hub: TestHub;
  let now: Date;
  const log: string[] = [];

  before(async () => {
    certificates = await makeCertificates();
    issuer = await certificates.createIssuer('issuer');
  });
  beforeEach(async () => {
    now = new Date();
    log.length = 0;
    server = await issuer.issue('/CN=hub');
    const tlsSettings = { rpcTlsCert: server.cert, rpcTlsKey: server.key, rpcTlsClientCa: issuer.ca };
    hub = await startHub({
      settings: tlsSettings,
      clock: () => now,
      log: { write: (line) => log.push(line) },
    });
  });
  afterEach(() => hub.stop());
  after(() => certificates.remove());

  const read = (path: string) => readFileSync(path, 'utf8');
  const shown = (pair: Pair) => ({ cert: read(pair.cert), key: read(pair.key) });
  /** Asks who the caller is, by a connection of its own. */
  const whoIs = (options: tls.ConnectionOptions, token?: string) =>
    createClient(AccessService, transport(options, token)).getCaller({});
  const transport = (options: tls.ConnectionOptions, token?: string) =>
    createConnectTransport({
      baseUrl: hub.rpcUrl,
      httpVersion: '1.1',
      nodeOptions: { ca: read(issuer.ca), ...options, agent: false },
      interceptors: [
        (next) => (request) => {
          if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
          return next(request);
        },
      ],
    });
  const admit = async (certificateSubject: string, role: Role = Role.VIEWER) => {
    const transport = createGrpcTransport({
      baseUrl: hub.rpcUrl,
      nodeOptions: { ca: read(issuer.ca) },
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${hub.token}`);
          return next(request);
        },
      ],
    });
    const tokens = createClient(TokenService, transport);
    const { serviceToken } = await tokens.createToken({
      name: 'shop',
      role,
      certificateSubject,
    });
    return () => tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
  };
  const serialShown = () =>
    new Promise<string>((resolve, reject) => {
      const { port } = new URL(hub.rpcUrl);
      const socket = tls.connect({ port: Number(port), host: '127.0.0.1', ca: read(issuer.ca) }, () => {
        resolve(socket.getPeerX509Certificate()?.subject ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const reasonOf = async (call: Promise<unknown>) => {
    const { code, rawMessage } = await failureOf(call);
    return `${Code[code]}: ${rawMessage}`;
  };

  it('serves grpc-js, curl with both HTTP versions, and Connect, with a token', async () => {
    expect(hub.rpcUrl).to.match(/^https:/);
    expect((await whoIs({}, hub.token)).role).to.equal(Role.ADMIN);
    expect((await byGrpcJs(hub.token)).name).to.equal('local admin');
    const url = `${hub.rpcUrl}/hub.access.v1.AccessService/GetCaller`;
    for (const version of ['--http1.1', '--http2']) {
      const headers = [`Authorization: Bearer ${hub.token}`, 'Content-Type: application/json'];
      const { stdout } = await run('curl', [
        ...['-sS', version, '--cacert', issuer.ca, '-w', '%{http_version} %{http_code}', '-d', '{}'],
        ...headers.flatMap((header) => ['-H', header]),
        url,
      ]);
      expect(stdout).to.match(version === '--http2' ? /2 200$/ : /1\.1 200$/);
    }
  });

  it('refuses plaintext and old TLS versions', async () => {
    const plain = createConnectTransport({
      baseUrl: hub.rpcUrl.replace('https', 'http'),
      httpVersion: '1.1',
    });
    expect((await failureOf(createClient(AccessService, plain).getCaller({}))).code).to.not.equal(
      Code.Unauthenticated,
    );
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    expect(await reasonOf(whoIs(old, hub.token))).to.match(/protocol version|unsupported protocol/i);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      expect((await whoIs({ minVersion: version, maxVersion: version }, hub.token)).role).to.equal(
        Role.ADMIN,
      );
    }
  });

  it('identifies a caller by the subject of its certificate, as openssl prints it', async () => {
    for (const subject of [
      '/O=Example/CN=shop',
      '/C=DE/O=Müller \\+ Söhne, Köln/CN=a\\/b',
      '/O=Example/CN=two+UID=parts',
      '/CN= "odd"\\\\ <name>; #1 ',
    ]) {
      const pair = await issuer.issue(subject);
      const text = await subjectOf(pair);
      const revoke = await admit(text);
      expect(await whoIs(shown(pair)), text).to.include({ name: 'shop', role: Role.VIEWER });
      expect(await byGrpcJs(undefined, pair), text).to.include({ name: 'shop' });
      await revoke();
      expect(await reasonOf(whoIs(shown(pair))), text).to.contain('no service token is registered for');
    }
  });

  it('logs the certificate of a caller in both logs, with and without a token', async () => {
    const pair = await issuer.issue('/O=Example/CN=Ada');
    const subject = await subjectOf(pair);
    await admit(subject, Role.ADMIN);
    const asked = (token?: string) =>
      createClient(LicenseAdminService, transport(shown(pair), token)).createApp({
        slug: token === undefined ? 'by-certificate' : 'by-token',
        name: 'x',
      });
    await asked();
    await asked(hub.token);
    const audit = createClient(AuditService, transport({}, hub.token));
    const { entries } = await audit.listAuditEntries({ action: 'app.create' });
    expect(
      entries.map(({ actor, actorKind, actorCertificateSubject }) => [
        actor,
        actorKind,
        actorCertificateSubject,
      ]),
    ).to.deep.equal([
      ['local admin', ActorKind.TOKEN, subject],
      ['shop', ActorKind.CERTIFICATE, subject],
    ]);
    const line = log.find((each) => each.includes('CreateApp') && each.includes('"caller":"shop"'));
    const { callerKind, tokenId, certificateSubject } = JSON.parse(line ?? '{}');
    expect({ callerKind, tokenId, certificateSubject }).to.deep.equal({
      callerKind: 'certificate',
      tokenId: entries[1]?.actorTokenId,
      certificateSubject: subject,
    });
  });

  it('prefers a token to a certificate, and refuses a wrong one with any certificate', async () => {
    const pair = await issuer.issue('/CN=both');
    await admit('CN=both');
    expect(await whoIs(shown(pair), hub.token)).to.include({ name: 'local admin' });
    expect(await reasonOf(whoIs(shown(pair), 'hub_wrong'))).to.contain('the service token is not valid');
  });

  it('refuses certificates of other issuers, and callers without certificate and token', async () => {
    await admit('CN=shop');
    const stranger = await (await certificates.createIssuer('stranger')).issue('/CN=shop');
    expect(await reasonOf(whoIs(shown(stranger)))).to.contain('the client certificate is not accepted');
    expect(await whoIs(shown(stranger), hub.token)).to.include({ name: 'local admin' });
    expect(await reasonOf(whoIs({}))).to.equal(
      'Unauthenticated: send a service token as "Authorization: Bearer <token>"',
    );
  });

  it('refuses a certificate that expires during its connection', async () => {
    const pair = await issuer.issue('/CN=brief', 1);
    await admit('CN=brief');
    expect(await whoIs(shown(pair))).to.include({ name: 'shop' });
    now = new Date(now.getTime() + 25 * 3_600_000);
    expect(await reasonOf(whoIs(shown(pair)))).to.contain('the client certificate has expired');
  });

  it('uses a new certificate after its files change, without a restart', async () => {
    expect(await serialShown()).to.equal('CN=hub');
    await replacePair(server, await issuer.issue('/CN=renewed'));
    await until(async () => (await serialShown()) === 'CN=renewed', 'the new certificate is served');
    expect((await whoIs({}, hub.token)).role).to.equal(Role.ADMIN);
  });

  it('keeps its certificate while the files are invalid, and logs it once', async () => {
    const other = await issuer.issue('/CN=other');
    await writeFile(server.cert, read(other.cert)); // of another key
    const complaints = () => log.filter((line) => line.includes('keeps its certificates'));
    await until(() => complaints().length > 0, 'the log says that the certificate was kept');
    expect(await serialShown()).to.equal('CN=hub');
    expect(complaints().join()).to.contain(server.cert).and.not.contain('BEGIN');
    await replacePair(server, other);
    await until(async () => (await serialShown()) === 'CN=other', 'the corrected certificate is served');
    expect(complaints()).to.have.length(1);
  });

  it('does not trust clients of a replaced issuer, even with session resumption', async () => {
    const pair = await issuer.issue('/CN=shop');
    await admit('CN=shop');
    const next = await certificates.createIssuer('next');
    const { port } = new URL(hub.rpcUrl);
    const ca = read(issuer.ca);
    const ask = (session?: Buffer) =>
      new Promise<{ answer: string; session: Buffer | undefined; resumed: boolean }>((resolve, reject) => {
        let ticket: Buffer | undefined;
        let resumed = false;
        const options = { port: Number(port), host: '127.0.0.1', ca, ...shown(pair) };
        const socket = tls.connect({ ...options, ...(session && { session }) }, () => {
          resumed = socket.isSessionReused();
          const body = '{}';
          socket.write(
            `POST /hub.access.v1.AccessService/GetCaller HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n` +
              `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
        });
        let answer = '';
        socket.on('session', (data) => {
          ticket = data;
        });
        socket.setEncoding('utf8').on('data', (text: string) => {
          answer += text;
        });
        socket.on('error', reject);
        socket.on('close', () => resolve({ answer, session: ticket, resumed }));
      });
    const first = await ask();
    expect(first.answer).to.match(/^HTTP\/1.1 200/);
    const again = await ask(first.session);
    expect(again).to.include({ resumed: true });
    expect(again.answer).to.match(/^HTTP\/1.1 200/);
    try {
      await writeFile(issuer.ca, read(next.ca));
      await until(() => log.some((line) => line.includes('has new certificates')), 'the issuer is replaced');
      const late = await ask(again.session ?? first.session);
      expect(late.answer).to.match(/^HTTP\/1.1 401/);
    } finally {
      await writeFile(issuer.ca, ca);
    }
  });

  function byGrpcJs(token: string | undefined, pair?: Pair): Promise<GetCallerResponse> {
    const [ca, key, cert] = [issuer.ca, pair?.key, pair?.cert].map((path) =>
      path === undefined ? null : readFileSync(path),
    );
    const client = new Client(new URL(hub.rpcUrl).host, credentials.createSsl(ca, key, cert));
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    return new Promise<GetCallerResponse>((resolve, reject) => {
      client.makeUnaryRequest(
        '/hub.access.v1.AccessService/GetCaller',
        (message) => Buffer.from(toBinary(GetCallerRequestSchema, message)),
        (bytes) => fromBinary(GetCallerResponseSchema, bytes),
        create(GetCallerRequestSchema),
        metadata,
        (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
      );
    }).finally(() => client.close());
  }
});
