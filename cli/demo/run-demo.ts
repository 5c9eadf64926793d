// Runs the demo: a hub, sample data, and commands to paste.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Client, Code, ConnectError } from '@connectrpc/connect';
import type { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseState } from '../../gen/hub/license/v1/license_pb.ts';
import { shellQuote } from '../../lib/files/secret-file.ts';
import { connect } from '../connect/connection.ts';
import { lazyHub } from '../connect/lazy-hub.ts';
import type { Progress } from '../output/progress.ts';
import type { RunningHub } from '../serve/run-hub.ts';
import { serveUntilStopped } from '../serve/serve-until-stopped.ts';
import type { Settings } from '../serve/setting-table.ts';
import { faultLine } from '../simulator/run-simulator.ts';
import type { Streams } from '../streams.ts';
import type { DemoLicense, DemoReport } from '../views/operations/demo.ts';
import { startDemoPayments } from './demo-payments.ts';
import { startDemoShop } from './demo-shop.ts';
import { seedDemo } from './seed-demo.ts';

export type DemoOptions = {
  readonly dataDir: string;
  /** One JSON line instead of commands. */
  readonly json: boolean;
  /** Undefined for a free port. */
  readonly simulatorPort: number | undefined;
  readonly streams: Streams;
  readonly progress: Progress;
};

export async function runDemo(settings: Settings, options: DemoOptions): Promise<void> {
  const { dataDir, json, simulatorPort, streams, progress } = options;
  await using undo = new AsyncDisposableStack();
  const starting = progress.show(() => 'Starting the hub');
  undo.defer(() => starting.end());
  const log = {
    write(line: string) {
      progress.clear();
      streams.stderr.write(line);
    },
  };
  await serveUntilStopped(settings, {
    dataDir,
    log,
    async onReady({ gatewayUrl, core }: RunningHub) {
      if (gatewayUrl === undefined || core === undefined) throw new Error('the demo runs in the role all');
      const token = { value: core.adminToken.reveal(), from: 'the hub itself' };
      const trust = { certificate: settings.rpcTlsCert };
      const target = { server: core.rpcUrl, token, guessedFor: undefined, withheld: undefined, trust };
      const hub = lazyHub((service) => connect(target, service));
      const demo = await keptLicense(hub.admin, join(dataDir, 'demo.json'));
      const { simulator, slots } = await startDemoPayments(hub, {
        port: simulatorPort,
        ...(!json && { onFault: (event) => void streams.stderr.write(faultLine(event)) }),
      });
      undo.defer(() => simulator.close());
      const { app } = demo;
      const shop = await startDemoShop(hub, {
        app,
        slots: Object.values(slots),
        rpcUrl: core.rpcUrl,
        gatewayUrl,
      });
      undo.defer(() => shop.close());
      const report: DemoReport = {
        gateway: gatewayUrl,
        rpc: core.rpcUrl,
        token: core.adminToken.reveal(),
        app,
        licenseId: demo.licenseId,
        licenseKey: demo.licenseKey,
        seats: demo.seats,
        slots,
        simulator: simulator.url,
        offer: shop.offer,
        shop: shop.url,
      };
      starting.end();
      streams.stdout.write(json ? `${JSON.stringify(report)}\n` : guide(report, dataDir, settings.docs));
    },
  });
  if (!json) streams.stdout.write('The hub has stopped. The simulated payments are gone.\n');
}

/** The license of the last run, if it is still valid. The hub keeps no keys, so the demo keeps its own. */
async function keptLicense(admin: Client<typeof LicenseAdminService>, file: string): Promise<DemoLicense> {
  const kept = await readFile(file, 'utf8')
    .then((text): DemoLicense => JSON.parse(text))
    .catch(() => undefined); // the first run, or a run that was interrupted while writing
  if (kept?.licenseId && (await isGood(admin, kept.licenseId))) return kept;
  const fresh = await seedDemo(admin);
  await rm(file, { force: true }); // the mode below applies to new files only
  await writeFile(file, `${JSON.stringify(fresh)}\n`, { mode: 0o600 });
  return fresh;
}

async function isGood(admin: Client<typeof LicenseAdminService>, licenseId: string): Promise<boolean> {
  try {
    const { license } = await admin.getLicense({ licenseId });
    return license?.state === LicenseState.ACTIVE;
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return false;
    throw error;
  }
}

function guide(
  { gateway, rpc, app, licenseId, licenseKey, seats, slots, simulator, offer, shop }: DemoReport,
  dataDir: string,
  docs: boolean,
): string {
  const here = `--data-dir ${shellQuote(resolve(dataDir))}`;
  const body = (extra: object) =>
    JSON.stringify({ licenseKey, machineFingerprint: 'demo-machine', ...extra });
  const post = (path: string, extra: object) =>
    `curl -sS ${gateway}${path} -H 'Content-Type: application/json' -d '${body(extra)}'`;
  return `The hub is ready.

  Gateway      ${gateway}${docs ? `  (reference at ${gateway}/docs)` : ''}
  RPC          ${rpc}  (token in ${join(dataDir, 'admin-token')})
  Console      ${rpc}/console/  (sign in with that token)
  App          ${app}
  License      ${licenseId}  (${seats} seats)
  License key  ${licenseKey}
  Providers    ${simulator}  (simulated; slots ${Object.values(slots).join(', ')})
  Shop         ${shop}  (sells the offer ${offer}: buy it, pay, and get a license key)

Paste into another terminal:

  # Activate a machine: takes a seat, returns a signed license and the public key
  ${post('/v1/activate', { machineLabel: 'My laptop', appVersion: '1.0.0' })}

  # Check the license and the machine
  curl -sS '${gateway}/v1/status/${licenseId}?fp=demo-machine'

  # Fetch the public key that verifies licenses offline
  curl -sS ${gateway}/v1/apps/${app}/public-key

  # Release the seat
  ${post('/v1/deactivate', {})}

  # Administer: a revoked license cannot be activated again
  npx hubctl license show ${licenseId} ${here}
  npx hubctl license revoke ${licenseId} --reason 'Trying it out' --yes ${here}

  # Sell a license: open the checkout page that it prints, and pay
  npx hubctl session create --slot ${slots.gateway_one} --offer ${offer} --currency BDT --customer-email ada@example.com --order ORD-1 ${here}

  # List the orders, after you have paid
  npx hubctl order list ${here}

  # List the last events: the changes of licenses, seats, payments and customers
  npx hubctl event list --max 10 ${here}

Ctrl-C stops the hub; its data stays in ${dataDir}. The simulated providers forget
their payments, so open checkouts can no longer be paid.
`;
}
