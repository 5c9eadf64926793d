// gateway_two's answers: envelopes and access tokens.
import { expect } from 'chai';
import { ProviderRefused, ProviderUnavailable } from '../../../../../core/payment/providers/driver.ts';
import {
  type Reply,
  readGrant,
  readReply,
} from '../../../../../core/payment/providers/gateway-two/answers.ts';
import { payment } from '../sample-answers.ts';

const reply = (body: unknown, status = 200): Reply => readReply(status, JSON.stringify(body));
const code = (statusCode: string): Reply => reply({ statusCode, statusMessage: 'Said so' });

describe('a reply of gateway_two', () => {
  for (const status of [500, 502, 503, 504, 408, 429]) {
    it(`is ignored with HTTP ${status}`, () => {
      expect(() => reply(payment(), status)).to.throw(ProviderUnavailable, `HTTP ${status}`);
    });
  }
});

describe('a grant of gateway_two', () => {
  const granted = { statusCode: '0000', id_token: 'eyJ.a.b', token_type: 'Bearer', expires_in: 3600 };

  it('is valid as long as stated, as a number or as text', () => {
    for (const expires_in of [3600, '3600']) {
      expect(readGrant(reply({ ...granted, expires_in }))).to.deep.equal({
        token: 'eyJ.a.b',
        expiresInSeconds: 3600,
      });
    }
  });

  it('needs no status code', () => {
    expect(readGrant(reply({ ...granted, statusCode: undefined })).token).to.equal('eyJ.a.b');
  });

  for (const changes of [
    { id_token: '' },
    { id_token: 'a\r\nb' },
    { expires_in: 0 },
    { expires_in: '1h' },
    { expires_in: -1 },
  ]) {
    it(`is refused with ${JSON.stringify(changes)}`, () => {
      expect(() => readGrant(reply({ ...granted, ...changes }))).to.throw(ProviderUnavailable);
    });
  }

  it('is refused for wrong credentials', () => {
    expect(() => readGrant(code('2001'))).to.throw(ProviderRefused, '2001 Said so');
    expect(() => readGrant(reply({ message: 'Unauthorized' }, 401))).to.throw(
      ProviderRefused,
      'HTTP 401 Unauthorized',
    );
  });

  it('is unavailable after too many grants', () => {
    expect(() => readGrant(reply({ errorCode: '2003', errorMessage: 'Too many' }))).to.throw(
      ProviderUnavailable,
    );
  });
});
