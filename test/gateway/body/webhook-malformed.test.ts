// Callbacks that no provider sends: each is refused with a clear error, and none reaches the core.
import { expect } from 'chai';
import { until } from '../../support/until.ts';
import { objectIn, startGateway, type TestGateway } from '../fake-core.ts';
import { openRaw, sendRaw } from '../server/raw-socket.ts';

const ONE = '/v1/webhooks/gateway_one';
const TWO = '/v1/webhooks/gateway_two';
const TYPE = 'application/x-www-form-urlencoded';

describe('a malformed webhook', () => {
  let gateway: TestGateway;
  let received = 0;
  before(async () => {
    const receiveCallback = () => {
      received += 1;
      return { body: '', contentType: 'text/plain' };
    };
    gateway = await startGateway({ bodyTimeoutMs: 400 }, { receiveCallback });
  });
  beforeEach(() => {
    received = 0;
  });
  after(() => gateway.close(0));

  const post = (body: string | Uint8Array<ArrayBuffer>, type = TYPE, path = ONE): Promise<Response> =>
    gateway.get(path, { method: 'POST', headers: { 'content-type': type }, body });
  const refused = async (pending: Promise<Response>, status: number, about: string) => {
    const response = await pending;
    expect(response.status, about).to.equal(status);
    expect(response.headers.get('content-type'), about).to.equal('application/problem+json');
    expect(received, about).to.equal(0);
    return await objectIn(response);
  };

  it('is refused with a repeated field in the query, in the form, or in both', async () => {
    const cases: readonly [field: string, pending: Promise<Response>][] = [
      ['status', gateway.get(`${TWO}?status=success&status=failure`)],
      ['status', gateway.get(`${TWO}?status=success&st%61tus=success`)],
      ['session_id', gateway.get(`${TWO}?session_id=chs_1&session_id=chs_1`)],
      ['status', post('status=VALID&tran_id=T&status=FAILED')],
      ['__proto__', post('__proto__=a&__proto__=b')],
      ['status', post('status=VALID', TYPE, `${ONE}?status=VALID`)],
      ['session_id', post('session_id=chs_2', TYPE, `${ONE}?session_id=chs_1`)],
    ];
    for (const [field, pending] of cases) {
      const problem = await refused(pending, 400, field);
      expect(problem).to.include({ code: 'invalid_request' });
      expect(problem['errors']).to.have.length(1).and.have.nested.property('[0].field', field);
    }
  });

  it('is refused with an array', async () => {
    for (const name of ['status[]', 'status[0]', 'status%5B%5D', '[status]', 'a[__proto__]']) {
      await refused(gateway.get(`${TWO}?${name}=success`), 400, name);
      await refused(post(`tran_id=T&${name}=VALID`), 400, name);
    }
  });

  it('is refused with a percent escape that is broken, not UTF-8 or a NUL', async () => {
    for (const value of ['%', '%4', '%zz', '%ff', '%c0%af', '%ed%a0%80', '%00', 'a%00b']) {
      await refused(post(`status=${value}`), 400, value);
      await refused(post(`${value}=status`), 400, value);
      await refused(gateway.get(`${TWO}?status=${value}`), 400, value);
    }
  });

  it('is refused if it is not UTF-8', async () => {
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const problem = await refused(post(new Uint8Array([0x61, 0x3d, ...bytes])), 400, bytes.join());
      expect(problem['detail']).to.equal('The body is not valid UTF-8.');
    }
  });

  it('is refused with another content type, charset or coding', async () => {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', `${TYPE}x`]) {
      expect((await refused(post('status=VALID', type), 415, type))['detail']).to.contain(TYPE);
    }
    await refused(post('status=VALID', `${TYPE}; charset=iso-8859-1`), 415, 'charset');
    const headers = { 'content-type': TYPE, 'content-encoding': 'gzip' };
    await refused(gateway.get(ONE, { method: 'POST', headers, body: 'a=b' }), 415, 'coding');
    const untyped = `POST ${ONE} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nContent-Length: 3\r\n\r\na=b`;
    expect((await sendRaw(gateway.port, untyped))[0]?.status).to.equal(415);
    expect(received).to.equal(0);
    expect((await post('status=VALID', `${TYPE}; charset=UTF-8`)).status).to.equal(200);
  });

  it('is refused with too many fields or a field that is too long, by name', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => `${index.toString(36)}=`).join('&');
    expect((await post(many(200))).status).to.equal(200);
    received = 0;
    for (const count of [201, 10_000]) {
      expect((await refused(post(many(count)), 400, `${count}`))['detail']).to.match(/^fields: .*200/);
    }
    const long = await refused(post(`val_id=${'x'.repeat(8193)}`), 400, 'long value');
    expect(long['detail']).to.match(/^val_id: /);
    await refused(post(`${'x'.repeat(201)}=`), 400, 'long name');
    const id = await refused(gateway.get(`${TWO}?session_id=${'x'.repeat(257)}`), 400, 'long session id');
    expect(id['detail']).to.match(/^session_id: /);
  });

  it('is refused over 64 KiB, with 1 MiB sent before the response is read', async () => {
    const connection = await openRaw(gateway.port);
    const size = 1024 * 1024;
    connection.socket.pause();
    connection.socket.write(
      `POST ${ONE} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${TYPE}\r\nContent-Length: ${size}\r\n\r\n`,
    );
    await new Promise((sent) => {
      connection.socket.write(Buffer.alloc(size, 0x61), sent);
    });
    connection.socket.resume();
    const [answer] = await connection.closed();
    expect(answer?.status).to.equal(413);
    expect(JSON.parse(answer?.body ?? '').code).to.equal('body_too_large');
    expect(received).to.equal(0);
  });

  it('times out if it arrives too slowly', async () => {
    const connection = await openRaw(gateway.port);
    connection.socket.write(
      `POST ${ONE} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${TYPE}\r\nContent-Length: 60\r\n\r\n`,
    );
    const trickle = setInterval(() => connection.socket.write('a'), 50);
    await until(() => connection.received().endsWith('}'), 'the response has arrived');
    clearInterval(trickle);
    connection.socket.end();
    const [answer] = await connection.closed();
    expect(answer?.status).to.equal(408);
    // By the body's own time, and not by the longer one that every request has.
    expect(JSON.parse(answer?.body ?? '')).to.include({
      code: 'request_timeout',
      detail: 'The body did not arrive within 0.4 seconds.',
    });
    expect(received).to.equal(0);
  });

  it('is refused without a gateway in its path', async () => {
    await refused(gateway.get('/v1/webhooks/'), 404, 'empty');
    await refused(gateway.get('/v1/webhooks'), 404, 'none');
    await refused(gateway.get('/v1/webhooks/gateway_two/'), 404, 'slash');
  });

  it('is never quoted in the error', async () => {
    for (const form of [
      'status=CANARY&status=CANARY',
      'a=CANARY%00',
      `a=${'CANARY'.repeat(2000)}`,
      'a=CANARY%',
    ]) {
      const response = await post(form);
      expect(response.status).to.equal(400);
      expect(await response.text()).not.to.contain('CANARY');
    }
  });
});
