// The callback endpoints of a real hub: a stranger learns nothing from them.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { objectIn } from '../fake-core.ts';

describe('the webhooks of a hub', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const notify = (path: string, form: string): Promise<Response> =>
    fetch(`${hub.gatewayUrl}/v1/webhooks/${path}`, { method: 'POST', body: new URLSearchParams(form) });
  const redirect = (query: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${hub.gatewayUrl}/v1/webhooks/gateway_two${query}`, init);

  it('return a message for a notification of gateway_one, whatever it names', async () => {
    for (const path of ['gateway_one', 'gateway_one?session_id=chs_unknown', 'gateway_one?session_id=']) {
      const response = await notify(path, 'status=VALID&tran_id=UNKNOWN&val_id=V&amount=1.00');
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.match(/^application\/json/);
      expect(await response.json()).to.deep.equal({ message: 'received' });
    }
  });

  it('return ok for a redirect of gateway_two, whatever it names', async () => {
    for (const query of [
      '',
      '?paymentID=unknown&status=success',
      '?paymentId=x&status=cancel',
      '?session_id=x',
    ]) {
      const response = await redirect(query);
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
      expect(await response.text()).to.equal('ok');
    }
  });

  it('refuse a missing or contradictory field by its name', async () => {
    const cases = [
      ['tran_id', notify('gateway_one', 'status=VALID')],
      ['status', notify('gateway_one', 'tran_id=T')],
      ['paymentID', redirect('?paymentID=a&paymentId=b&status=success')],
    ] as const;
    for (const [field, pending] of cases) {
      const response = await pending;
      expect(response.status, field).to.equal(400);
      const { code, detail } = await objectIn(response);
      expect(code, field).to.equal('callback_malformed');
      expect(detail, field).to.match(new RegExp(`\\b${field}\\b`, 'i'));
    }
  });

  it('accept only the method of each gateway, and no unknown gateways', async () => {
    const cases = [
      [fetch(`${hub.gatewayUrl}/v1/webhooks/gateway_one`), 405, 'POST'],
      [notify('gateway_two', 'status=success'), 405, 'GET'],
      [redirect('?status=success', { method: 'HEAD' }), 405, 'GET'],
      [notify('gateway_three', 'status=VALID'), 404, null],
      [fetch(`${hub.gatewayUrl}/v1/webhooks/constructor`), 404, null],
    ] as const;
    for (const [pending, status, allow] of cases) {
      const response = await pending;
      expect([response.status, response.headers.get('allow')], response.url).to.deep.equal([status, allow]);
    }
  });

  it('accept fields with the names of built-in properties', async () => {
    const response = await notify('gateway_one', 'status=VALID&tran_id=T&__proto__=x&constructor=y');
    expect(response.status).to.equal(200);
  });
});
