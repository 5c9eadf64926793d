// docs/operations: alerts that lead somewhere, runbooks whose commands exist, a dashboard that Grafana takes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { promtool } from '../support/promtool.ts';
import { unknownToHubctl } from './known-to-hubctl.ts';
import { codeRows, fencedBlocks, readAnchors, readPage } from './markdown.ts';

const FOLDER = 'docs/operations';
const ALERTS = readPage(`${FOLDER}/alerts.yml`);
const RUNBOOKS = readPage(`${FOLDER}/runbooks.md`);
const DASHBOARD: Dashboard = JSON.parse(readPage(`${FOLDER}/grafana-dashboard.json`));
/** The labels of each metric, which another test compares with a running hub. */
const METRICS = new Map(
  codeRows(readPage(`${FOLDER}/metrics.md`)).map(([name = '', type = '', labels = '']) => [
    name,
    { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
  ]),
);
/** Every target has them, whatever it tells. */
const OF_TARGETS = ['job', 'instance'];

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
};
type Dashboard = {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};

/** The alerts by name, each with what stands in its rule. */
const alerts = new Map(
  ALERTS.split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => [rule.slice(0, rule.indexOf('\n')), rule] as const),
);
/** What it asks: the lines between `expr` and what follows it. */
const exprOf = (rule: string): string =>
  /^ {8}expr: (.*?)^ {8}\w/ms.exec(rule)?.[1]?.replace(/^\|/, '') ?? '';
const expressions = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

describe('docs/operations', () => {
  it('has exactly one runbook for each alert, which links to it', () => {
    const sections = [...RUNBOOKS.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(sections).to.have.members([...alerts.keys()]);
    const anchors = readAnchors(RUNBOOKS);
    for (const [name, rule] of alerts) {
      expect(rule, name).to.match(/severity: (critical|warning) /);
      const [, anchor] = /runbook_url: docs\/operations\/runbooks\.md#(\S+)\n/.exec(rule) ?? [];
      expect([name.toLowerCase(), anchors.includes(anchor ?? '')], name).to.deep.equal([anchor, true]);
    }
    for (const [name, text] of sectionsOf(RUNBOOKS)) {
      for (const part of ['**Means**', '**Look**', '**Do**']) expect(text, name).to.contain(part);
    }
  });

  it('names existing commands and metrics in its runbooks', () => {
    const said = [...RUNBOOKS.matchAll(/`hubctl ([^`]+)`/g)].map(([, words = '']) => words.split(/\s+/));
    expect(said.length).to.be.above(5);
    expect(said.flatMap(unknownToHubctl)).to.deep.equal([]);
    const looked = [RUNBOOKS, ...fencedBlocks(RUNBOOKS, 'sh')].flatMap((text) =>
      [...text.matchAll(/\bmetrics (\w+)\b(?!\()/g)].map(([, name = '']) => name),
    );
    const names = looked.filter((name) => /^(hub|process|nodejs)_/.test(name));
    expect(names.length).to.be.above(20);
    const unknown = names.filter((name) => ![...METRICS.keys()].some((each) => each.startsWith(base(name))));
    expect(unknown).to.deep.equal([]);
  });

  it('uses existing metrics and labels in alerts and dashboard', () => {
    const asked = [...[...alerts.values()].map(exprOf), ...expressions];
    expect(asked)
      .to.have.length(alerts.size + expressions.length)
      .and.not.include('');
    expect(asked.flatMap(strange)).to.deep.equal([]);
    expect(asked.flatMap((expr) => selectorsOf(expr)).length).to.be.above(100);
  });

  it('fires every alert in a test', () => {
    const tested = [...readPage(`${FOLDER}/alerts.test.yml`).matchAll(/^ {2}- name: (\w+)$/gm)];
    expect(tested.map(([, name]) => name)).to.have.members([...alerts.keys()]);
  });

  it('has alerts that Prometheus accepts, and that fire when they should', function () {
    const check = promtool(this, ['check', 'rules', `${FOLDER}/alerts.yml`]);
    expect(check.code, check.output).to.equal(0);
    expect(check.output).to.contain(`${alerts.size} rules found`);
    const fired = promtool(this, ['test', 'rules', `${FOLDER}/alerts.test.yml`]);
    expect(fired.code, fired.output).to.equal(0);
    const config = promtool(this, ['check', 'config', '--syntax-only', `${FOLDER}/prometheus.yml`]);
    expect(config.code, config.output).to.equal(0);
  });

  it('has a dashboard with queries that Prometheus accepts', async function () {
    const folder = await mkdtemp(join(tmpdir(), 'hub-dashboard-'));
    const file = join(folder, 'rules.json'); // JSON is YAML
    const rules = expressions.map((expr, index) => ({
      record: `q${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replace(/\$(job|instance)/g, 'hub'),
    }));
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const { code, output } = promtool(this, ['check', 'rules', file]);
    await rm(folder, { recursive: true });
    expect(code, output).to.equal(0);
  });

  it('has a dashboard without overlapping panels, repeated ids or unknown variables', () => {
    const { panels, templating } = DASHBOARD;
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).to.be.at.most(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), `${title} overlaps`).to.equal(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
    for (const { type, title, targets = [] } of panels) {
      expect(targets.length > 0, title).to.equal(type !== 'row');
      expect(new Set(targets.map(({ refId }) => refId)).size, title).to.equal(targets.length);
    }
    const variables = new Set(templating.list.map(({ name }) => name));
    const used = [...JSON.stringify(DASHBOARD).matchAll(/\$(?!__)(\w+)/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !variables.has(name))).to.deep.equal([]);
  });
});

function sectionsOf(page: string): [string, string][] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]);
}

/** A histogram's samples have suffixes. */
function base(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}

type Selector = { readonly name: string; readonly labels: readonly string[] };

/** Metrics that an expression names, each with the labels that it is chosen by. */
function selectorsOf(expr: string): Selector[] {
  return [...expr.matchAll(/\b((?:hub|process|nodejs)_\w+)(?:\{([^}]*(?:"[^"]*"[^}]*)*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  );
}

function strange(expr: string): string[] {
  return selectorsOf(expr).flatMap(({ name, labels }) => {
    const metric = METRICS.get(name) ?? METRICS.get(base(name));
    if (metric === undefined) return [`there is no ${name}`];
    if (
      name.endsWith('_bucket') !==
      (metric.type === 'histogram' && name !== `${base(name)}_count` && name !== `${base(name)}_sum`)
    ) {
      return [`${name} is a ${metric.type}`];
    }
    const known = [...metric.labels, ...OF_TARGETS, ...(metric.type === 'histogram' ? ['le'] : [])];
    return labels.filter((label) => !known.includes(label)).map((label) => `${name} has no label ${label}`);
  });
}
