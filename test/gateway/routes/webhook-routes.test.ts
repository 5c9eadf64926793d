// The callback endpoints: what reaches the core, and how its answers reach the provider.
import { Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import type { ReceiveCallbackRequest } from '../../../gen/hub/payment/v1/callback_service_pb.ts';
import { objectIn, refusal, startGateway, type TestGateway } from '../fake-core.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('a webhook', () => {
  let gateway: TestGateway;
  let received: ReceiveCallbackRequest[];
  let answer: () => { body: string; contentType: string };
  before(async () => {
    const receiveCallback = (request: ReceiveCallbackRequest) => {
      received.push(request);
      return answer();
    };
    gateway = await startGateway({ ratePerMinute: 1 }, { receiveCallback });
  });
  beforeEach(() => {
    received = [];
    answer = () => ({ body: '{"message":"received"}', contentType: 'application/json' });
  });
  after(() => gateway.close(0));

  const post = (path: string, body: string, init: RequestInit = {}): Promise<Response> =>
    gateway.get(path, { method: 'POST', headers: FORM, body, ...init });
  /** What the one callback that came through was made of. */
  const only = () => {
    expect(received).to.have.length(1);
    const [{ gateway: name, method, sessionId, fields } = expect.fail()] = received;
    return { name, method, sessionId, fields: Object.entries(fields) };
  };

  it('by POST passes the session id of the query and the fields of the form', async () => {
    const response = await post(
      '/v1/webhooks/gateway_one?session_id=chs_1',
      'status=VALID&tran_id=T+1&val_id=a%26b%23c%2Bd&empty=&bare&caf%C3%A9=%E2%9C%93&=nameless&&',
    );
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json');
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(await response.text()).to.equal('{"message":"received"}');
    expect(only()).to.deep.equal({
      name: 'gateway_one',
      method: 'POST',
      sessionId: 'chs_1',
      fields: [
        ['status', 'VALID'],
        ['tran_id', 'T 1'],
        ['val_id', 'a&b#c+d'],
        ['empty', ''],
        ['bare', ''],
        ['café', '✓'],
        ['', 'nameless'],
      ],
    });
  });

  it('that is signed passes the bytes of the body and the headers of the signature, and no query', async () => {
    const body = `{"id": "evt_1",\n "pad": "${'x'.repeat(200_000)}"}`;
    const response = await gateway.get('/v1/webhooks/stripe?session_id=chs_1', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': 't=1,v1=ab', 'x-other': 'x' },
      body,
    });
    expect(response.status).to.equal(200);
    const [{ body: bytes, headers } = expect.fail()] = received;
    expect(only()).to.deep.equal({ name: 'stripe', method: 'POST', sessionId: undefined, fields: [] });
    expect([Buffer.from(bytes).toString(), headers]).to.deep.equal([
      body,
      { 'stripe-signature': 't=1,v1=ab' },
    ]);
  });

  it("by GET passes the fields of the query, and returns the core's response", async () => {
    answer = () => ({ body: 'ok', contentType: 'text/plain; charset=utf-8' });
    const response = await gateway.get(
      '/v1/webhooks/gateway_two?paymentID=P%201&session_id=chs_2&status=success',
    );
    expect([response.status, response.headers.get('content-type'), await response.text()]).to.deep.equal([
      200,
      'text/plain; charset=utf-8',
      'ok',
    ]);
    expect(only()).to.deep.equal({
      name: 'gateway_two',
      method: 'GET',
      sessionId: 'chs_2',
      fields: [
        ['paymentID', 'P 1'],
        ['status', 'success'],
      ],
    });
  });

  it('passes an empty session id, but not a missing one', async () => {
    await gateway.get('/v1/webhooks/gateway_two');
    await gateway.get('/v1/webhooks/gateway_two?session_id=');
    expect(received.map(({ sessionId }) => sessionId)).to.deep.equal([undefined, '']);
  });

  it('accepts a POST without a body as an empty form', async () => {
    expect((await gateway.get('/v1/webhooks/gateway_two', { method: 'POST' })).status).to.equal(200);
    expect(only()).to.deep.include({ method: 'POST', fields: [] });
  });

  it('reads only the session id from the query of a POST', async () => {
    await post('/v1/webhooks/gateway_one?session_id=chs_1&utm=x', 'status=VALID');
    expect(only().fields).to.deep.equal([['status', 'VALID']]);
  });

  it('treats fields with the names of built-in properties like any other', async () => {
    const fields = '__proto__=polluted&constructor=c&toString=t&hasOwnProperty=h';
    await post('/v1/webhooks/gateway_one', fields);
    await gateway.get(`/v1/webhooks/gateway_two?${fields}`);
    for (const request of received) {
      expect(Object.entries(request.fields).map((pair) => pair.join('='))).to.have.members(fields.split('&'));
    }
    expect(received).to.have.length(2);
    expect({}).not.to.have.property('polluted');
  });

  it('refuses HEAD: the core gets the method and returns the allowed one', async () => {
    answer = () => {
      throw refusal(Code.InvalidArgument, { code: 'method_not_allowed', allow: 'GET' });
    };
    const response = await gateway.get('/v1/webhooks/gateway_two?status=success', { method: 'HEAD' });
    expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'GET']);
    expect(only().method).to.equal('HEAD');
  });

  it('returns 404 for an unknown gateway, and 405 with Allow for the wrong method', async () => {
    const cases = [
      ['gateway_unknown', Code.NotFound, '', 404, null],
      ['method_not_allowed', Code.InvalidArgument, 'POST', 405, 'POST'],
    ] as const;
    for (const [code, connectCode, allow, status, header] of cases) {
      answer = () => {
        throw refusal(connectCode, { code, allow, field: 'gateway' });
      };
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const response = await gateway.get('/v1/webhooks/gateway_one', { method });
        expect([response.status, response.headers.get('allow')], method).to.deep.equal([status, header]);
        expect(await objectIn(response)).to.include({ ok: false, code });
      }
    }
  });

  it('returns 400 with the field if the core finds it malformed', async () => {
    answer = () => {
      throw refusal(Code.InvalidArgument, { code: 'callback_malformed', field: 'paymentID' });
    };
    const response = await gateway.get('/v1/webhooks/gateway_two?paymentID=a&paymentId=b');
    expect(response.status).to.equal(400);
    expect(await objectIn(response)).to.deep.include({
      code: 'callback_malformed',
      detail: 'paymentID: Refused for a reason.',
      errors: [{ field: 'paymentID', detail: 'Refused for a reason.' }],
    });
    expect(only().fields).to.have.length(2);
  });

  it('never returns 200 if it is not stored: 503 with Retry-After, or 500', async () => {
    const cases = [
      [Code.Unavailable, 503, '5'],
      [Code.DeadlineExceeded, 503, '5'],
      [Code.Internal, 500, null],
    ] as const;
    for (const [code, status, retryAfter] of cases) {
      answer = () => {
        throw new ConnectError('no', code);
      };
      const response = await post('/v1/webhooks/gateway_one', 'status=VALID');
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([status, retryAfter]);
    }
  });

  it('is not counted by the rate limit of the license endpoints', async () => {
    for (let time = 0; time < 5; time += 1) {
      const response = await post('/v1/webhooks/gateway_one', 'status=VALID');
      expect([response.status, response.headers.get('ratelimit')]).to.deep.equal([200, null]);
    }
  });

  it('is logged in one line without its contents', async () => {
    gateway.logs.length = 0;
    await post('/v1/webhooks/gateway_one?session_id=chs_CANARY', 'status=CANARY&CANARY=1');
    await gateway.get('/v1/webhooks/gateway_two?status=CANARY&status=CANARY');
    expect(gateway.logs.map(({ route, status }) => [route, status])).to.deep.equal([
      ['/v1/webhooks/{gateway}', 200],
      ['/v1/webhooks/{gateway}', 400],
    ]);
    expect(JSON.stringify(gateway.logs)).not.to.contain('CANARY');
  });
});
