// `npm run bench -- batching`: compares the hub and the bare peer with a server that only batches the statements of the
// bare peer.
import { createProgram } from '../../support/parse-options.ts';
import { checkAgreement } from '../agreement.ts';
import { createCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { type CaseResult, measureCase, waitUntilIdle } from '../measure.ts';
import { PLANS } from '../measurement-plan.ts';
import { rateRatio } from '../report/results.ts';
import { microsText, ratioText } from '../report/words.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startBatchedStatements } from '../sides/floor.ts';
import { startHub } from '../sides/hub.ts';
import { startBarePeer } from '../sides/peer.ts';
import { makeLicenses } from '../test-data.ts';

const { smoke } = createProgram('npm run bench -- batching')
  .description('Compares hub and bare peer with a server that only batches the statements of the bare peer.')
  .option('--smoke', 'a short run that only shows that the benchmark works', false)
  .parse()
  .opts<{ readonly smoke: boolean }>();
const PLAN = smoke
  ? { ...PLANS.smoke, latencyRounds: 0 }
  : { ...PLANS.full, connections: [1, 32], rounds: 5, latencyRounds: 0 };
/** The cases with a single statement and no other work. */
const CASES = ['status', 'public_key', 'callback'];
/** No case needs a verification, so no request goes to this address. */
const NO_PROVIDER = 'http://127.0.0.1:9';

const HEAD = `| | connections | hub | bare peer | batched | batched over bare peer | hub over batched | µs of CPU a request, and of PostgreSQL: hub | bare peer | batched |
|---|---|---|---|---|---|---|---|---|---|`;

process.stdout.write(await interruptible(measure));

async function measure(start: Start): Promise<string> {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const common = { directory, providerUrl: NO_PROVIDER };
  const hub = await begin(() => startHub({ ...common, redisUrl }));
  const barePeer = await begin(() => startBarePeer(common));
  const batched = await begin(() => startBatchedStatements(directory));
  const licenses = makeLicenses(PLAN.licenses);
  for (const { database } of [hub, barePeer, batched]) await database?.addLicenses(licenses);

  const cases = createCases(licenses).filter(({ name }) => CASES.includes(name));
  await checkAgreement(cases, batched, barePeer, []);

  const sides = [hub, barePeer, batched];
  const untilIdle = (): Promise<void> => waitUntilIdle(sides, PLAN.idleTimeoutMs);
  const rows: string[] = [];
  for (const each of cases) {
    process.stderr.write(`measuring: ${each.title}\n`);
    rows.push(
      rowsOf(each.title, await measureCase(each, sides, { plan: PLAN, untilIdle, onStep: () => {} })),
    );
  }
  return [HEAD, ...rows, ''].join('\n');
}

function rowsOf(title: string, { hub, bare: barePeer, batched }: CaseResult): string {
  const sides = [hub, barePeer, batched];
  const rows = PLAN.connections.map((connections) => {
    const ratios = [rateRatio(batched, barePeer, connections), rateRatio(hub, batched, connections)];
    const cells = [
      ...sides.map((side) => side?.perSecond[connections]?.toFixed(0)),
      ...ratios.map(ratioText),
      ...sides.map((side) => microsText(side?.cost[connections])),
    ];
    return `| ${[title, connections, ...cells].join(' | ')} |`;
  });
  return rows.join('\n');
}
