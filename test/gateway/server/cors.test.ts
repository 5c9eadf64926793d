// Which web pages may call the gateway: none, unless their origin is listed.
import { expect } from 'chai';
import { parseOrigins } from '../../../gateway/server/cors.ts';
import { startGateway, type TestGateway } from '../fake-core.ts';

const APP = 'https://app.example.com';
const CORS = /^access-control-/;

const corsOf = (response: Response): string[] =>
  [...response.headers.keys()].filter((name) => CORS.test(name));
const preflight = (gateway: TestGateway, path: string, origin: string, method = 'POST'): Promise<Response> =>
  gateway.get(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } });

describe('a web page', () => {
  let closed: TestGateway;
  let open: TestGateway;
  before(async () => {
    closed = await startGateway();
    open = await startGateway({ corsOrigins: [APP, 'http://localhost:3000'], ratePerMinute: 100 });
  });
  after(() => Promise.all([closed.close(0), open.close(0)]));

  it('gets no CORS headers without configured origins', async () => {
    const asked = await preflight(closed, '/v1/activate', APP);
    expect([asked.status, asked.headers.get('allow')]).to.deep.equal([405, 'POST']);
    const read = await closed.get('/v1/status/x', { headers: { origin: APP } });
    expect(read.headers.get('vary')).to.equal(null);
    expect([...corsOf(asked), ...corsOf(read)]).to.deep.equal([]);
  });

  it('of a listed origin may send requests and read responses', async () => {
    const asked = await preflight(open, '/v1/activate', APP);
    expect(asked.status).to.equal(204);
    expect(Object.fromEntries(asked.headers)).to.include({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, If-None-Match',
      vary: 'Origin',
    });
    const read = await open.get('/v1/status/x', { headers: { origin: 'http://localhost:3000' } });
    expect(read.headers.get('access-control-allow-origin')).to.equal('http://localhost:3000');
    expect(read.headers.get('access-control-expose-headers')).to.contain('Retry-After');
    const refused = await open.post('/v1/activate', {}, { headers: { origin: APP } });
    expect(refused.status).to.equal(415);
    expect(refused.headers.get('access-control-allow-origin')).to.equal(APP);
  });

  it('never may send credentials, and the allowed origin is never a wildcard', async () => {
    for (const response of [
      await preflight(open, '/v1/activate', APP),
      await preflight(open, '/v1/activate', '*'),
    ]) {
      expect(response.headers.get('access-control-allow-credentials')).to.equal(null);
      expect(response.headers.get('access-control-allow-origin')).not.to.equal('*');
    }
  });

  it('of another origin gets no permission, but caches get Vary', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      `${APP}.evil.example`,
      'http://app.example.com',
      `${APP}:444`,
      APP.toUpperCase(),
      `${APP}/`,
    ]) {
      const asked = await preflight(open, '/v1/activate', origin);
      const read = await open.get('/v1/status/x', { headers: { origin } });
      expect([...corsOf(asked), ...corsOf(read)], origin).to.deep.equal([]);
      expect([asked.status, read.headers.get('vary')], origin).to.deep.equal([405, 'Origin']);
    }
    expect((await open.get('/v1/status/x')).headers.get('vary')).to.equal('Origin');
  });

  it('may not call webhooks and health checks from any origin', async () => {
    for (const path of ['/v1/webhooks/gateway_two', '/healthz', '/readyz', '/nowhere']) {
      const asked = await preflight(open, path, APP, 'GET');
      const read = await open.get(path, { headers: { origin: APP } });
      expect([...corsOf(asked), ...corsOf(read)], path).to.deep.equal([]);
    }
  });

  it('sends preflight requests without using up the rate limit', async () => {
    const asked = await preflight(open, '/v1/activate', APP);
    expect(asked.headers.get('ratelimit')).to.equal(null);
  });
});

describe('the list of origins', () => {
  it('is separated by commas or white space, and may be empty', () => {
    expect(parseOrigins(`${APP}, http://localhost:3000`)).to.deep.equal([APP, 'http://localhost:3000']);
    expect(parseOrigins('')).to.deep.equal([]);
  });

  it('is refused with every wrong item', () => {
    for (const item of [
      '*',
      'null',
      'app.example.com',
      `${APP}/`,
      `${APP}/path`,
      'https://A.example',
      `${APP}:443`,
    ]) {
      expect(() => parseOrigins(`${APP} ${item}`), item).to.throw(`${JSON.stringify(item)}: write an origin`);
    }
    expect(() => parseOrigins('* null')).to.throw('"*", "null"');
  });
});
