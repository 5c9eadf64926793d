// The response to a client when the core refuses or fails.
import { Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import type { FieldProblem } from '../../gateway/problem.ts';
import { type FakeCore, objectIn, refusal, startGateway, type TestGateway } from './fake-core.ts';

const REQUEST = { licenseKey: 'KEY-1', machineFingerprint: 'fp-1' };

describe('a problem', () => {
  let gateway: TestGateway;
  const start = async (core: FakeCore = {}): Promise<void> => {
    gateway = await startGateway({}, core);
  };
  afterEach(() => gateway.close(0));

  describe('for errors of the core', () => {
    const cases: readonly [code: string, connectCode: Code, status: number][] = [
      ['app_unknown', Code.NotFound, 404],
      ['license_key_unknown', Code.NotFound, 404],
      ['license_unknown', Code.NotFound, 404],
      ['seat_unknown', Code.NotFound, 404],
      ['limit_profile_unknown', Code.NotFound, 404],
      ['license_revoked', Code.FailedPrecondition, 410],
      ['license_suspended', Code.FailedPrecondition, 410],
      ['license_expired', Code.FailedPrecondition, 410],
      ['seat_not_active', Code.PermissionDenied, 403],
    ];
    for (const [code, connectCode, status] of cases) {
      it(`is returned for ${code} with status ${status}`, async () => {
        await start({
          checkStatus: () => {
            throw refusal(connectCode, { code });
          },
        });
        const response = await gateway.get('/v1/status/x');
        expect(response.status).to.equal(status);
        expect(response.headers.get('content-type')).to.equal('application/problem+json');
        const { title, ...problem } = await objectIn(response);
        expect(title).to.be.a('string').that.is.not.empty;
        expect(problem).to.deep.equal({
          type: `urn:hub:problem:${code}`,
          status,
          detail: 'Refused for a reason.',
          instance: `urn:uuid:${response.headers.get('x-request-id')}`,
          ok: false,
          code,
        });
      });
    }

    it('includes the seats when all are taken', async () => {
      await start({
        activate: () => {
          throw refusal(Code.ResourceExhausted, {
            code: 'seat_limit_reached',
            seats: { $typeName: 'hub.error.v1.SeatUsage', limit: 3, used: 3 },
          });
        },
      });
      const response = await gateway.post('/v1/activate', REQUEST);
      expect(response.status).to.equal(409);
      expect(await objectIn(response)).to.deep.include({
        code: 'seat_limit_reached',
        seats: { limit: 3, used: 3 },
      });
    });
  });

  describe('for violated rules', () => {
    const errorsOf = async (response: Response): Promise<{ [field: string]: string }> => {
      expect(response.status).to.equal(400);
      const { code, errors } = (await response.json()) as { code: string; errors: FieldProblem[] }; // asserted below
      expect(code).to.equal('invalid_request');
      return Object.fromEntries(errors.map(({ field, detail }) => [field, detail]));
    };

    it("names every wrong field in the request's spelling, with a remedy", async () => {
      await start();
      const body = { machineFingerprint: 'a\u0000b', machineLabel: 'x'.repeat(129), appVersion: 'v1' };
      expect(await errorsOf(await gateway.post('/v1/activate', body))).to.deep.equal({
        licenseKey: 'is required and must not be empty',
        machineFingerprint: 'must not contain control characters, line breaks or text-direction marks',
        machineLabel: 'must be at most 128 characters',
        appVersion: 'must be dotted numeric, such as 2.14.0',
      });
    });

    it('names path and query parameters by their REST names', async () => {
      await start();
      expect(await errorsOf(await gateway.get('/v1/status/x?fp='))).to.have.keys('fp');
      expect(await errorsOf(await gateway.get('/v1/status/x?fp=a&fp=a'))).to.have.keys('fp');
    });

    it('calls an empty optional field empty, not required', async () => {
      await start();
      expect(await errorsOf(await gateway.get('/v1/status/x?fp='))).to.deep.equal({
        fp: 'must not be empty: omit it or give a value',
      });
      expect((await gateway.get('/v1/status/x')).status).to.equal(200);
    });

    for (const [what, value] of [
      ['empty', ''],
      ['null', null],
      ['missing', undefined],
    ] as const) {
      it(`accepts an optional member that is ${what}, and calls a required one required`, async () => {
        await start();
        const optional = { ...REQUEST, machineLabel: value, appVersion: value };
        expect((await gateway.post('/v1/activate', optional)).status).to.equal(200);
        const required = { licenseKey: value, machineFingerprint: value };
        for (const path of ['/v1/activate', '/v1/deactivate']) {
          expect(await errorsOf(await gateway.post(path, required)), path).to.deep.equal({
            licenseKey: 'is required and must not be empty',
            machineFingerprint: 'is required and must not be empty',
          });
        }
      });
    }

    it('counts characters, not bytes', async () => {
      await start();
      const response = await gateway.post('/v1/activate', {
        ...REQUEST,
        machineFingerprint: '\u{1f5a5}'.repeat(256),
      });
      expect(response.status).to.equal(200);
    });
  });

  describe('for failures', () => {
    for (const code of [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted]) {
      it(`is 503 with Retry-After for transient failures of the core: ${Code[code]}`, async () => {
        await start({
          checkStatus: () => {
            throw new ConnectError('pool of 10.1.2.3 is full', code);
          },
        });
        const response = await gateway.get('/v1/status/x');
        expect(response.status).to.equal(503);
        expect(Number(response.headers.get('retry-after'))).to.be.at.least(1);
        const text = await response.text();
        expect(JSON.parse(text).code).to.equal('unavailable');
        expect(text).not.to.contain('10.1.2.3');
      });
    }

    it('is 500 for all other failures, with the cause in the log only', async () => {
      for (const failure of [
        new Error('password=hunter2'),
        new ConnectError('hunter2', Code.Unauthenticated),
        new ConnectError('hunter2', Code.InvalidArgument),
        refusal(Code.FailedPrecondition, { code: 'a_code_of_tomorrow' }),
      ]) {
        await start({
          checkStatus: () => {
            throw failure;
          },
        });
        const response = await gateway.get('/v1/status/x');
        expect(response.status).to.equal(500);
        const text = await response.text();
        expect(JSON.parse(text).code).to.equal('internal');
        expect(text).not.to.match(/hunter2|tomorrow/);
        const errors = gateway.logs.filter(({ level }) => level >= 50);
        expect(errors).to.have.length(1);
        expect(errors[0]).to.have.property('err');
        expect(errors[0]?.['requestId']).to.equal(response.headers.get('x-request-id'));
        await gateway.close(0);
      }
    });
  });
});
