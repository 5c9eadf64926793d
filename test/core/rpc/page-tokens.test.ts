// Page tokens: their validity, and the RPCs that use them.
import { expect } from 'chai';
import fc from 'fast-check';
import { HubError } from '../../../core/errors.ts';
import { createPageTokens, isPaged } from '../../../core/rpc/page-tokens.ts';
import { contractServices } from '../access/contract-services.ts';
import { freshMasterKey } from '../payment/payment-admin.ts';

const key = freshMasterKey();
const LIST = '["hub.license.v1.LicenseAdminService","ListLicenses","",null]';

describe('a page token', () => {
  const { seal, open } = createPageTokens([key]);

  it('is short, safe in URLs and command lines, and hides the position', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{13}\.chs_\w{26}$/), (position) => {
        const token = seal(position, LIST);
        expect(token).to.match(/^A[\w-]{1,298}$/);
        expect(Buffer.from(token, 'base64url').toString('latin1')).to.not.include('chs_');
        expect(seal(position, LIST)).to.not.equal(token);
        expect(open(token, LIST)).to.equal(position);
      }),
    );
  });

  it('is refused with the same message for another list, an alteration, or another hub', () => {
    const token = seal('lic_1', LIST);
    const refusals = [
      () => open(token, `${LIST} `),
      () => open(`${token.slice(0, -2)}${token.endsWith('A') ? 'B' : 'A'}A`, LIST),
      () => open(`${token}=`, LIST),
      () => open(` ${token}`, LIST),
      () => open(token.slice(0, 40), LIST),
      () => open(token.repeat(100), LIST),
      () => open('lic_01k8e7qk3vf2tb5s0w9m4x6ydz', LIST),
      () => createPageTokens([freshMasterKey()]).open(token, LIST),
    ].map((attempt) => {
      try {
        attempt();
      } catch (error) {
        if (error instanceof HubError) return { code: error.code, field: error.field, text: error.message };
        throw error;
      }
      return undefined;
    });
    for (const refused of refusals) expect(refused).to.deep.equal(refusals[0]);
    expect(refusals[0]).to.include({ code: 'page_token_invalid', field: 'pageToken' });
  });

  it('is valid at every hub with the master key, until the key leaves the ring', () => {
    const token = seal('lic_1', LIST);
    expect(createPageTokens([freshMasterKey(), key]).open(token, LIST)).to.equal('lic_1');
    expect(() => createPageTokens([freshMasterKey()]).open(token, LIST)).to.throw(HubError);
  });

  it('is sealed for every RPC with a page token', async () => {
    const methods = (await contractServices()).flatMap((service) => service.methods);
    const half = methods.filter((method) => {
      const names = [...method.input.fields, ...method.output.fields].map(({ name }) => name);
      return names.some((name) => name.includes('page_token')) && !isPaged(method);
    });
    expect(half.map(({ name }) => name)).to.deep.equal([]);
    expect(methods.filter(isPaged).map(({ name }) => name)).to.include.members([
      'ListLicenses',
      'ListTokens',
    ]);
  });
});
