// The callback address: public wherever the provider is elsewhere, and short enough for every gateway.
import { expect } from 'chai';
import { publicUrl } from '../../../../cli/serve/setting-values.ts';
import { HubError } from '../../../../core/errors.ts';
import { newUuid } from '../../../../core/ids.ts';
import type { Environment } from '../../../../core/payment/entities.ts';
import { DRIVERS } from '../../../../core/payment/providers/registry.ts';
import { callbackBase, callbackUrl } from '../../../../core/payment/sessions/callback-url.ts';

const baseFor = (environment: Environment, baseUrl: string, publicUrl?: string): string => {
  const address = { publicUrl, localUrl: () => 'http://127.0.0.1:5099' };
  try {
    return callbackBase(address, { environment, baseUrl });
  } catch (error) {
    if (error instanceof HubError) return error.code;
    throw error;
  }
};

describe('the callback address', () => {
  it('without a public URL is local, for a simulator on this machine only', () => {
    for (const near of ['http://127.0.0.1:5200/gateway_one', 'http://localhost:5200', 'http://[::1]:5200']) {
      expect(baseFor('sandbox', near), near).to.equal('http://127.0.0.1:5099');
      expect(baseFor('production', near), near).to.equal('public_url_unset');
    }
    for (const far of ['https://sandbox.example', 'http://127.0.0.1.example', 'http://10.0.0.1']) {
      expect(baseFor('sandbox', far), far).to.equal('public_url_unset');
    }
  });

  it('is the public URL, if configured', () => {
    for (const environment of ['sandbox', 'production'] as const) {
      const base = baseFor(environment, 'http://127.0.0.1:5200', 'https://hub.example/pay/');
      expect(base).to.equal('https://hub.example/pay');
    }
  });

  it('has at most 255 characters for every gateway and every accepted public URL', () => {
    const longest = `https://hub.example/${'a'.repeat(160)}`;
    expect(publicUrl(longest)).to.equal(longest);
    expect(() => publicUrl(`${longest}a`)).to.throw('180');
    for (const { gateway } of DRIVERS) {
      expect(callbackUrl(longest, gateway, newUuid()).length).to.be.at.most(255);
    }
  });
});
