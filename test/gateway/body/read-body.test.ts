// Accepted request bodies, and the errors for others, on real sockets.
import { expect } from 'chai';
import fc from 'fast-check';
import { parseJsonObject } from '../../../gateway/body/read-body.ts';
import { Problem } from '../../../gateway/problem.ts';
import { until } from '../../support/until.ts';
import { objectIn, startGateway, type TestGateway } from '../fake-core.ts';
import { openRaw, sendRaw } from '../server/raw-socket.ts';

const HUGE = 10_000_000;
const GOOD = '{"licenseKey":"KEY-1","machineFingerprint":"fp-1"}';

describe('a request body', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ bodyTimeoutMs: 400 });
  });
  after(() => gateway.close(0));

  const send = (
    body: string | Uint8Array<ArrayBuffer>,
    headers: { [name: string]: string } = {},
  ): Promise<Response> =>
    gateway.post('/v1/activate', undefined, {
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const raw = (headers: readonly string[], body: string): string =>
    ['POST /v1/activate HTTP/1.1', 'Host: hub', ...headers, '', body].join('\r\n');

  it('is accepted as application/json, with parameters and in any letter case', async () => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"; profile=x',
    ]) {
      expect((await send(GOOD, { 'content-type': type })).status, type).to.equal(200);
    }
    expect((await send(GOOD, { 'content-encoding': 'identity' })).status).to.equal(200);
  });

  it('is refused with another type, charset or coding', async () => {
    const cases: readonly { [name: string]: string }[] = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json-seq' },
      { 'content-type': 'application/json, application/json' },
      { 'content-type': 'application/json; charset=iso-8859-1' },
      { 'content-encoding': 'gzip' },
    ];
    for (const headers of cases) {
      const response = await send(GOOD, headers);
      expect(response.status, JSON.stringify(headers)).to.equal(415);
      expect((await objectIn(response)).code).to.equal('unsupported_media_type');
    }
    const [untyped] = await sendRaw(gateway.port, raw(['Connection: close', 'Content-Length: 2'], '{}'));
    expect(untyped?.status).to.equal(415);
  });

  it('is refused if it is not strict JSON', async () => {
    for (const body of ['', '{', '{"a":1,"a":2}', '{"a":"\\ud800"}', '\ufeff{}', '{"a":1}x']) {
      const response = await send(body);
      expect(response.status, body).to.equal(400);
      expect((await objectIn(response)).code, body).to.equal('invalid_json');
    }
    for (const bytes of [
      [0x7b, 0xff, 0x7d],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xc0, 0xaf],
    ]) {
      expect((await objectIn(await send(new Uint8Array(bytes)))).detail).to.equal(
        'The body is not valid UTF-8.',
      );
    }
  });

  it('is refused with a known member of the wrong type, by name', async () => {
    const cases: readonly [body: string, detail: string][] = [
      ['{"licenseKey":1e999,"machineFingerprint":"f"}', 'licenseKey: must be a string, got a number'],
      ['{"licenseKey":{},"machineFingerprint":"f"}', 'licenseKey: must be a string, got an object'],
      ['{"licenseKey":"k","machineFingerprint":["f"]}', 'machineFingerprint: must be a string, got an array'],
      [
        '{"licenseKey":"k","machineFingerprint":"f","appVersion":2}',
        'appVersion: must be a string, got a number',
      ],
      [
        `{"licenseKey":"k","machineFingerprint":"f","machineLabel":true}`,
        'machineLabel: must be a string, got a boolean',
      ],
    ];
    for (const [body, detail] of cases) {
      const response = await send(body);
      expect(response.status, body).to.equal(400);
      expect((await objectIn(response)).detail, body).to.equal(detail);
    }
    expect((await objectIn(await send('[]'))).code).to.equal('invalid_request');
  });

  it('accepts null for optional members, and ignores unknown members', async () => {
    const depth = 10_000;
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const body = `{"__proto__":{"licenseKey":1},"machineLabel":null,"n":1e999,"deep":${deep},${GOOD.slice(1)}`;
    expect((await send(body)).status).to.equal(200);
    expect((await send(`{"licenseKey":null,"machineFingerprint":"f"}`)).status).to.equal(400);
  });

  it('is never quoted in an error', async () => {
    for (const body of ['{"licenseKey":"SECRET"', '{"licenseKey":"SECRET"}', '{"licenseKey":["SECRET"]}']) {
      const response = await send(body);
      expect(response.status).to.equal(400);
      expect(await response.text()).not.to.contain('SECRET');
    }
  });

  it('can arrive in pieces of one byte', async () => {
    const connection = await openRaw(gateway.port);
    connection.socket.setNoDelay(true);
    const text = raw(
      ['Connection: close', 'Content-Type: application/json', `Content-Length: ${GOOD.length}`],
      GOOD,
    );
    for (const byte of text) {
      await new Promise((resolve) => {
        connection.socket.write(byte, resolve);
      });
    }
    const [answer] = await connection.closed();
    expect(answer?.status).to.equal(200);
  });

  it('gets 408 if it does not arrive in time, even if it trickles', async () => {
    const connection = await openRaw(gateway.port);
    connection.socket.write(raw(['Content-Type: application/json', 'Content-Length: 1000'], '{'));
    const trickle = setInterval(() => connection.socket.write(' '), 50);
    await until(() => connection.received().endsWith('}'), 'the response has arrived');
    clearInterval(trickle);
    connection.socket.end();
    const [answer] = await connection.closed();
    expect(answer?.status).to.equal(408);
    expect(answer?.headers['connection']).to.equal('close');
    expect(JSON.parse(answer?.body ?? '').code).to.equal('request_timeout');
  });

  it('can have exactly the maximum size', async () => {
    const fill = (size: number): string => GOOD + ' '.repeat(size - GOOD.length);
    expect((await send(fill(65_536))).status).to.equal(200);
    expect((await send(fill(65_537))).status).to.equal(413);
  });

  for (const framing of [`Content-Length: ${HUGE}`, 'Transfer-Encoding: chunked']) {
    it(`of 10 MB gets 413 even if the client sends everything before it reads, with ${framing}`, async () => {
      const connection = await openRaw(gateway.port);
      connection.socket.pause();
      connection.socket.write(raw(['Content-Type: application/json', framing], ''));
      if (framing.endsWith('chunked')) connection.socket.write(`${HUGE.toString(16)}\r\n`);
      await new Promise((sent) => {
        connection.socket.write(Buffer.alloc(HUGE, 0x20), sent);
      });
      connection.socket.resume();
      const [answer] = await connection.closed();
      expect(answer?.status).to.equal(413);
      expect(JSON.parse(answer?.body ?? '').code).to.equal('body_too_large');
    });
  }

  it('that is unused closes the connection if it is long or may never end', async () => {
    const cases: readonly (readonly string[])[] = [
      [`Content-Length: ${HUGE}`],
      ['Transfer-Encoding: chunked'],
      ['Content-Length: 10', 'Expect: 100-continue'],
    ];
    for (const headers of cases) {
      const [answer] = await sendRaw(gateway.port, raw(headers, ''));
      expect([answer?.status, answer?.headers['connection']], headers.join()).to.deep.equal([415, 'close']);
    }
  });

  it('gets no 100 Continue if it would be refused', async () => {
    const expecting = ['Expect: 100-continue', 'Content-Type: application/json'];
    const [refused, ...more] = await sendRaw(gateway.port, raw([...expecting, 'Content-Length: 70000'], ''));
    expect([refused?.status, more.length]).to.deep.equal([413, 0]);

    const connection = await openRaw(gateway.port);
    connection.socket.write(raw([...expecting, 'Connection: close', `Content-Length: ${GOOD.length}`], ''));
    await until(() => connection.received().startsWith('HTTP/1.1 100 '), 'the body is invited');
    connection.socket.write(GOOD);
    expect((await connection.closed()).map(({ status }) => status)).to.deep.equal([100, 200]);
  });

  it('that is short keeps the connection open, used or not', async () => {
    const length = `Content-Length: ${GOOD.length}`;
    const [wrongPath, wrongType, good] = await sendRaw(
      gateway.port,
      raw([length], GOOD).replace('activate', 'nowhere') +
        raw([length], GOOD) +
        raw([length, 'Content-Type: application/json', 'Connection: close'], GOOD),
    );
    expect([wrongPath?.status, wrongType?.status, good?.status]).to.deep.equal([404, 415, 200]);
  });

  it('that is aborted is logged as such, not as an error', async () => {
    const connection = await openRaw(gateway.port);
    const before = gateway.logs.length;
    connection.socket.write(raw(['Content-Type: application/json', 'Content-Length: 1000'], '{'));
    await until(async () => (await gateway.connections()) > 0, 'the connection is open');
    connection.socket.resetAndDestroy();
    await until(() => gateway.logs.length > before, 'the request is logged');
    expect(gateway.logs.slice(before).map(({ level, status }) => [level, status])).to.deep.equal([[30, 499]]);
  });
});

function refusalOf(text: string): Problem {
  try {
    parseJsonObject(text);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error(`taken: ${text.slice(0, 80)}`);
}

describe('strict JSON', () => {
  it('accepts every object that JSON.stringify writes', () => {
    const objects = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }));
    fc.assert(
      fc.property(objects, (object) => {
        const text = JSON.stringify(object, null, 1);
        expect(parseJsonObject(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('accepts escapes, colons and quotes in strings', () => {
    const value = { 'a:"b\\': 'c:d\\"', 'é\u{1f600}': ':::', '': '\\' };
    expect(parseJsonObject(JSON.stringify(value))).to.deep.equal(value);
    expect(parseJsonObject('{"a":"\\ud83d\\ude00"}')).to.deep.equal({ a: '\u{1f600}' });
  });

  it('treats __proto__ as a normal member', () => {
    const value = parseJsonObject('{"__proto__":{"licenseKey":"x"},"a":1}');
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
    expect(value['licenseKey']).to.equal(undefined);
    expect(Object.keys(value)).to.deep.equal(['__proto__', 'a']);
  });

  it('accepts nesting of any depth', () => {
    const depth = 30_000;
    const value = parseJsonObject(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(value).to.have.property('a').that.is.an('array');
  });

  it('refuses duplicate members at any depth, in any spelling', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"x":[{"y":{"a":1,"b":2,"a":3}}]}',
      '{"__proto__":1,"__proto__":2}',
      '{"":1,"":2}',
    ]) {
      expect(refusalOf(text).message, text).to.contain('two members with the same name');
    }
  });

  it('refuses lone surrogates in values and names', () => {
    for (const text of [
      '{"a":"\\ud800"}',
      '{"a":[["x\\udc00"]]}',
      '{"\\ud800":1}',
      '{"a":"\\ude00\\ud83d"}',
    ]) {
      expect(refusalOf(text).code, text).to.equal('invalid_json');
      expect(refusalOf(text).message, text).to.contain('surrogate');
    }
  });

  it('refuses a byte order mark by name', () => {
    expect(refusalOf('\ufeff{}').message).to.contain('byte order mark');
  });

  it('refuses invalid JSON, and never quotes it', () => {
    for (const text of [
      '',
      '{',
      "{'a':1}",
      '{"licenseKey":"SECRET-KEY",}',
      '{"a":SECRET}',
      '{"a":01}',
      '{"a":NaN}',
    ]) {
      const problem = refusalOf(text);
      expect(problem.code, text).to.equal('invalid_json');
      expect(problem.message, text).not.to.contain('SECRET');
    }
    expect(refusalOf('{"a":1,}').message).to.contain('at character 7');
  });

  it('refuses JSON that is not an object', () => {
    for (const text of ['null', '[]', '"a"', '1', 'true', '[{"a":1}]']) {
      expect(refusalOf(text).code, text).to.equal('invalid_request');
    }
  });
});
