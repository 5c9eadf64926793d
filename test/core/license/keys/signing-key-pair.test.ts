// Signing keys: the public forms agree with each other and with the standards.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { generateSigningKey, publicJwk, thumbprint } from '../../../../core/license/keys/signing-key-pair.ts';

describe('signing key', () => {
  it('is a P-256 pair: an SPKI public half in PEM and the matching PKCS #8 private half in DER', () => {
    const { publicKeyPem, privateKeyPkcs8 } = generateSigningKey();
    const privateKey = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' });
    expect(privateKey.asymmetricKeyDetails).to.deep.equal({ namedCurve: 'prime256v1' });
    expect(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' })).to.equal(publicKeyPem);
  });

  it('is different each time', () => {
    expect(generateSigningKey().kid).not.to.equal(generateSigningKey().kid);
  });

  it('has an id that no command line reads as an option', () => {
    const begins = new Set(Array.from({ length: 500 }, () => generateSigningKey().kid.charAt(0)));
    expect(begins).to.include('_').and.not.to.include('-');
  });

  it('has as its JWK the two coordinates at the end of its SPKI', () => {
    const { publicKeyPem, kid } = generateSigningKey();
    const point = Buffer.from(publicKeyPem.replace(/-----.*-----|\n/g, ''), 'base64').subarray(-64);
    expect(publicJwk(publicKeyPem, kid)).to.deep.equal({
      kty: 'EC',
      crv: 'P-256',
      x: point.toString('base64url', 0, 32),
      y: point.toString('base64url', 32),
      kid,
      alg: 'ES256',
      use: 'sig',
    });
  });

  it('has as its id the RFC 7638 thumbprint', () => {
    const { publicKeyPem, kid } = generateSigningKey();
    const { x, y } = publicJwk(publicKeyPem, kid);
    const members = `{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`;
    expect(kid).to.equal(createHash('sha256').update(members).digest('base64url'));
  });

  it('has the thumbprint that RFC 9449 gives for its example key', () => {
    const key = createPublicKey({
      format: 'jwk',
      key: {
        kty: 'EC',
        x: 'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs',
        y: '9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA',
        crv: 'P-256',
      },
    });
    expect(thumbprint(key)).to.equal('0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I');
  });

  it('has no JWK if it is on another curve', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(() => publicJwk(pem, 'kid')).to.throw(TypeError, 'P-256');
  });
});
