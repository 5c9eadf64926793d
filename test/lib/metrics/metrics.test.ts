// What is counted, and how it is written down.
import { expect } from 'chai';
import { expose } from '../../../lib/metrics/exposition.ts';
import { type Family, mergeFamilies } from '../../../lib/metrics/family.ts';
import { collectAll, createMetrics } from '../../../lib/metrics/metrics.ts';
import { parseMetrics } from '../../support/hub/metrics.ts';
import { promtool } from '../../support/promtool.ts';

const OPEN = 'application/openmetrics-text';

/** One of each kind, with counts. */
function someMetrics(counted: number) {
  const metrics = createMetrics();
  const calls = metrics.counter({
    name: 'hub_calls_total',
    help: 'Calls; "quoted".',
    labelNames: ['who', 'result'],
  });
  calls.labels('a\\b"c\nd', 'ok').inc(counted);
  calls.labels('e', 'failed').inc(0);
  const took = metrics.histogram({
    name: 'hub_call_duration_seconds',
    help: 'Duration.',
    labelNames: ['who'],
    buckets: [0.1, 1],
  });
  for (const seconds of [0.05, 0.1, 0.5, 7]) took.labels('e').observe(seconds);
  metrics.gauge({ name: 'hub_calls_under_way', help: 'Calls under way.' }, () => 3);
  metrics.gauge({ name: 'hub_latest', help: 'The latest.', aggregator: 'max' }, async () => counted);
  metrics.gauge({ name: 'hub_nothing', help: 'Nothing to tell.' }, () => undefined);
  metrics.observedCounter({ name: 'hub_others_total', help: 'Counted elsewhere.' }, () => 5);
  return metrics;
}

async function textOf(families: readonly Family[], accept?: string): Promise<string> {
  return (await expose(families, accept)).text;
}

describe('metrics', () => {
  it('are reported as counted', async () => {
    const told = parseMetrics(await textOf(await someMetrics(2).collectOwn()));
    expect(told.sum('hub_calls_total', { result: 'ok' })).to.equal(2);
    expect(told.samples.filter(({ name }) => name.startsWith('hub_call_duration'))).to.deep.equal([
      { name: 'hub_call_duration_seconds_bucket', labels: { who: 'e', le: '0.1' }, value: 2 },
      { name: 'hub_call_duration_seconds_bucket', labels: { who: 'e', le: '1' }, value: 3 },
      { name: 'hub_call_duration_seconds_bucket', labels: { who: 'e', le: '+Inf' }, value: 4 },
      { name: 'hub_call_duration_seconds_sum', labels: { who: 'e' }, value: 7.65 },
      { name: 'hub_call_duration_seconds_count', labels: { who: 'e' }, value: 4 },
    ]);
    expect(told.families.get('hub_nothing')).to.deep.equal({ type: 'gauge', help: 'Nothing to tell.' });
    expect(told.samples.some(({ name }) => name === 'hub_nothing')).to.equal(false);
  });

  it('exist from the start if they are declared, so that the first event counts', async () => {
    const told = parseMetrics(await textOf(await someMetrics(0).collectOwn()));
    const failed = told.samples.filter(({ labels }) => labels['result'] === 'failed');
    expect(failed.map(({ value }) => value)).to.deep.equal([0]);
  });

  it('are written in the format of Prometheus, or in OpenMetrics on request', async () => {
    const families = await someMetrics(1).collectOwn();
    const prometheus = await expose(families, undefined);
    expect(prometheus.contentType).to.match(/^text\/plain; version=0\.0\.4/);
    expect(prometheus.text).to.contain(
      '# TYPE hub_calls_total counter\nhub_calls_total{who="a\\\\b\\"c\\nd",result="ok"} 1',
    );
    const open = await expose(families, `${OPEN};version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`);
    expect(open.contentType).to.match(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(open.text)
      .to.contain('# TYPE hub_calls counter\nhub_calls_total{')
      .and.match(/\n# EOF\n$/);
    expect(open.text).to.not.match(/\n\n|_total_total/);
    // And again the old one, unharmed.
    expect(await textOf(families)).to.equal(prometheus.text);
    for (const [accept, isOpen] of [
      [OPEN, true],
      [`${OPEN};q=0.4, text/plain;q=0.5`, false],
      ['*/*', false],
      ['text/html', false],
    ] as const) {
      expect((await expose(families, accept)).contentType.startsWith(OPEN), accept).to.equal(isOpen);
    }
  });

  it('of several processes are added up, or combined as each metric defines', async () => {
    const parts = [await someMetrics(2).collectOwn(), await someMetrics(5).collectOwn()];
    const told = parseMetrics(await textOf(await mergeFamilies(parts)));
    expect(told.sum('hub_calls_total', { result: 'ok' })).to.equal(7);
    expect(told.sum('hub_call_duration_seconds_bucket', { le: '1' })).to.equal(6);
    expect(told.sum('hub_calls_under_way')).to.equal(6);
    expect(told.sum('hub_latest')).to.equal(5);
    expect(told.families.get('hub_call_duration_seconds')?.type).to.equal('histogram');
  });

  it('that are equal in all processes are read once, by the requested one', async () => {
    const metrics = createMetrics();
    metrics.counter({ name: 'hub_own_total', help: 'Own.' }).inc();
    metrics.commonGauges([{ name: 'hub_common', help: 'Common.' }], async () => ({ hub_common: 4 }));
    const all = await collectAll(metrics, async (own) => mergeFamilies([own, own, own]));
    const told = parseMetrics(await textOf(all));
    expect([told.sum('hub_own_total'), told.sum('hub_common')]).to.deep.equal([3, 4]);
  });

  it('have unique names', async () => {
    const metrics = createMetrics();
    const counter = () => metrics.counter({ name: 'hub_x_total', help: 'X.' });
    counter().inc();
    counter().inc();
    expect((await counter().get()).values).to.deep.equal([{ labels: {}, value: 2 }]);
    expect(() => metrics.gauge({ name: 'hub_x_total', help: 'X.' }, () => 1)).to.throw(
      'already been registered',
    );
  });

  it('pass promtool', async function () {
    const text = await textOf(await someMetrics(1).collectOwn());
    expect(promtool(this, ['check', 'metrics'], text)).to.deep.equal({ code: 0, output: '' });
  });
});
