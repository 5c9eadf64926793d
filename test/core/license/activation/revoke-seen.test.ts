// A revocation applies at once and everywhere: no later check may find the license valid.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../../support/hub/hub-process.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate, checkStatus } from '../../../support/network/rest.ts';

const LICENSES = 12;
/** Concurrent checks at each hub, all the time. */
const CHECKERS = 12;

type Check = { readonly licenseId: string; readonly startedAt: number; readonly status: number };

describe('a revocation under load', () => {
  let hub: TestHub;
  let others: HubProcess[] = [];
  let ownDir: string;
  before(async () => {
    hub = await startHub();
    ownDir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    const environment = {
      DATABASE_URL: hub.databaseUrl,
      HUB_MASTER_KEY_FILE: join(hub.dataDir, 'master.key'),
    };
    others = await Promise.all(
      ['one', 'two'].map((name) => spawnHub({ ...environment, HUB_DATA_DIR: join(ownDir, name) })),
    );
  });
  after(async () => {
    await Promise.all(others.map((other) => other.stop()));
    await hub.stop();
    await rm(ownDir, { recursive: true, force: true });
  });

  it('is visible to every later check and activation, at all hubs', async () => {
    const licenses = await Promise.all(Array.from({ length: LICENSES }, () => issueLicense(hub.admin)));
    for (const { licenseKey } of licenses) await activate(hub.gatewayUrl, licenseKey, 'machine');
    const checks: Check[] = [];
    let over = false;
    const checker = async (gateway: string): Promise<void> => {
      for (let turn = 0; !over; turn++) {
        const licenseId = licenses[turn % LICENSES]?.licenseId ?? '';
        const startedAt = performance.now();
        const { status } = await checkStatus(gateway, licenseId, 'machine');
        checks.push({ licenseId, startedAt, status });
      }
    };
    const checkers = others.flatMap(({ gatewayUrl }) =>
      Array.from({ length: CHECKERS }, () => checker(gatewayUrl)),
    );

    const revokedAt = new Map<string, number>();
    try {
      for (const { licenseId, licenseKey } of licenses) {
        await hub.admin.revokeLicense({ licenseId, reason: 'test' });
        revokedAt.set(licenseId, performance.now());
        // Concurrently with the checks.
        const atOnce = await Promise.all(
          [hub, ...others].flatMap(({ gatewayUrl }) => [
            checkStatus(gatewayUrl, licenseId, 'machine'),
            activate(gatewayUrl, licenseKey, 'machine'),
            activate(gatewayUrl, licenseKey, 'another'),
          ]),
        );
        expect(atOnce.map(({ status }) => status)).to.deep.equal(Array(9).fill(410));
      }
    } finally {
      over = true;
      await Promise.all(checkers);
    }

    const after = checks.filter((check) => check.startedAt > (revokedAt.get(check.licenseId) ?? Infinity));
    expect(after.filter(({ status }) => status !== 410)).to.deep.equal([]);
    expect(checks.some(({ status }) => status === 200)).to.equal(true);
    expect(after).to.have.length.greaterThan(LICENSES);
  });
});
