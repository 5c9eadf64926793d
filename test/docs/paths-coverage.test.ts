// The pages of paths list the files that run: the coverage of V8 says which functions ran during a request.
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { expect } from 'chai';
import { parseId } from '../../core/ids.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  payQuietly,
  startPayments,
} from '../support/hub/payment.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const ROOT = new URL('../../', import.meta.url);
/** Requests before the measurement. The first ones load and cache things. */
const WARM_UP = 3;
/** On a busy machine, background work may run during many requests, but hardly during all of them. */
const MEASURED = 60;
/** Work that an event and an entry of the audit log may cause at once, and the simulated provider with its tests. */
const BESIDE =
  /^(cli|gen|test|lib\/(metrics|presentation)|core\/(event\/(?!outbox)|audit\/(?!record)|repeated-task))\b/;

/** The files of the page, without those that only sell licenses. */
function listedFiles(page: string): string[] {
  const [text = ''] = readFileSync(new URL(`docs/paths/${page}`, ROOT), 'utf8').split(
    '## From the settlement to',
  );
  return Array.from(text.matchAll(/^\d+\. \[`([^`]+)`\]/gm), ([, file = '']) => file);
}

describe('the files that run during a request', () => {
  let payments: Payments;
  const profiler = new Session();
  before(async () => {
    payments = await startPayments();
    profiler.connect();
    await profiler.post('Profiler.enable');
    await profiler.post('Profiler.startPreciseCoverage', { callCount: true });
  });
  after(async () => {
    profiler.disconnect();
    await payments.stop();
  });

  /** The files of the repository with functions that ran since the last call. */
  const takeFiles = async (): Promise<Set<string>> => {
    const { result } = await profiler.post('Profiler.takePreciseCoverage');
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
    const files = ran.flatMap(({ url }) => (url.startsWith(ROOT.href) ? [url.slice(ROOT.href.length)] : []));
    return new Set(files.filter((file) => !file.startsWith('node_modules/') && !BESIDE.test(file)));
  };

  /** The files that run during each request. Measures until no other than the listed ones are left. */
  const filesOf = async (
    listed: readonly string[],
    prepare: () => Promise<() => Promise<number>>,
  ): Promise<string[]> => {
    let common: string[] | undefined;
    for (let time = 0; time < WARM_UP + MEASURED; time++) {
      const send = await prepare();
      await takeFiles();
      expect(await send()).to.equal(200);
      const files = await takeFiles();
      if (time >= WARM_UP) common = common?.filter((file) => files.has(file)) ?? [...files];
      if (common?.every((file) => listed.includes(file))) break;
    }
    return common?.toSorted() ?? [];
  };

  /** Reads the database, because the hub would run other files. */
  const isSettled = async (id: string | undefined): Promise<boolean> => {
    const sql = `select from charge_session where id = $1 and status = 'success'`;
    return (await query(payments.hub.databaseUrl, sql, [id])).length === 1;
  };

  it('are those of the page about callbacks', async () => {
    const listed = listedFiles('callback.md');
    const files = await filesOf(listed, async () => {
      const session = await createSession(payments, 'gateway_one');
      const fields = callbackFields(session, 'paid', payQuietly(payments, session));
      const id = parseId('chs', session.sessionId);
      return async () => {
        const { status } = await callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
        // On a busy machine the hub acknowledges the callback before it settles it.
        await until(() => isSettled(id), 'the callback is settled');
        return status;
      };
    });
    expect(files).to.deep.equal(listed.toSorted());
  });

  it('are those of the page about activations', async () => {
    await payments.hub.admin.createApp({ slug: 'demo' });
    const { licenses } = await payments.hub.admin.issueLicenses({
      app: 'demo',
      seatLimit: WARM_UP + MEASURED,
    });
    let machines = 0;
    const listed = listedFiles('activation.md');
    const files = await filesOf(listed, async () => async () => {
      const body = JSON.stringify({
        licenseKey: licenses[0]?.licenseKey,
        machineFingerprint: `machine-${machines++}`,
      });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${payments.hub.gatewayUrl}/v1/activate`, {
        method: 'POST',
        headers,
        body,
      });
      await response.arrayBuffer();
      return response.status;
    });
    expect(files).to.deep.equal(listed.toSorted());
  });
});
