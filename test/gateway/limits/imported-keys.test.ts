// The limit of wrong guesses at imported keys, which may be short and in any form, as at the hub's own.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';

const WRONG_GUESSES = 4;
const STRANGERS = 5 * WRONG_GUESSES;
const CUSTOMER = '198.51.100.1';

/** Keys, each with another spelling that the hub accepts and a wrong key of the same form. */
const KINDS: Record<string, { key: string; respelled: string; wrong: (nth: number) => string }> = {
  'short keys': { key: '482913', respelled: '48 29-13', wrong: (nth) => `${482_914 + nth}` },
  'long keys': {
    key: 'ACME-4711-0815-0042-2001',
    respelled: 'acme 4711–0815 0042 2001',
    wrong: (nth) => `ACME-4711-0815-0042-${3_000 + nth}`,
  },
  'keys of both cases': {
    key: 'pro_abcdEFGHijklMNOP',
    respelled: ' pro_abcdEFGHijklMNOP\t',
    wrong: (nth) => `pro_abcdEFGHijklMNO${'abcdefgh'.charAt(nth)}`,
  },
};

describe('the limit of wrong guesses at imported keys', () => {
  let hub: TestHub;
  beforeEach(async () => {
    hub = await startHub({ settings: { wrongGuesses: WRONG_GUESSES, trustedProxies: ['127.0.0.1'] } });
  });
  afterEach(() => hub.stop());

  const activateFrom = async (ip: string, licenseKey: string, machineFingerprint: string) => {
    const response = await fetch(`${hub.gatewayUrl}/v1/activate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': ip },
      body: JSON.stringify({ licenseKey, machineFingerprint }),
    });
    await response.text();
    return response.status;
  };
  const importKey = async (licenseKey: string) => {
    async function* messages() {
      yield { app, allowShort: true, licenses: [{ licenseKey, seatLimit: 1 }] };
    }
    const app = await createApp(hub.admin);
    expect(await hub.admin.importLicenses(messages())).to.include({ imported: 1 });
  };
  const stranger = (nth: number): string => `192.0.2.${nth}`;

  for (const [kind, { key, respelled, wrong }] of Object.entries(KINDS)) {
    it(`refuses a client after too many unknown keys: ${kind}`, async () => {
      await importKey(key);
      const statuses: number[] = [];
      for (let nth = 0; nth <= WRONG_GUESSES; nth++)
        statuses.push(await activateFrom(stranger(1), wrong(nth), 'machine'));
      expect(statuses).to.deep.equal([...Array(WRONG_GUESSES).fill(404), 429]);
      expect(await activateFrom(stranger(1), key, 'machine'), 'the right key').to.equal(429);
      const { licenseKey } = await issueLicense(hub.admin);
      expect(await activateFrom(stranger(1), licenseKey, 'machine'), 'a key of the hub').to.equal(429);
      expect(await activateFrom(CUSTOMER, key, 'machine'), 'another client').to.equal(200);
    });

    it(`counts wrong machines over all strangers, in any spelling: ${kind}`, async () => {
      await importKey(key);
      expect(await activateFrom(CUSTOMER, key, 'machine')).to.equal(200);
      const statuses: number[] = [];
      for (let nth = 0; nth < STRANGERS + 2; nth++)
        statuses.push(await activateFrom(stranger(nth), nth % 2 ? key : respelled, `wrong-${nth}`));
      expect(statuses).to.deep.equal([...Array(STRANGERS).fill(409), 429, 429]);
      expect(await activateFrom(stranger(99), key, 'machine'), 'a stranger').to.equal(429);
      expect(await activateFrom(CUSTOMER, respelled, 'machine'), 'the customer').to.equal(200);
    });
  }
});
