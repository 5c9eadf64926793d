// Parses the /metrics of a hub.
import { expect } from 'chai';

export type Scrape = {
  readonly text: string;
  /** By the names that Prometheus stores. */
  readonly families: ReadonlyMap<string, { readonly type: string; readonly help: string }>;
  readonly samples: readonly Sample[];
  /** The sum of the samples with this name and at least these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
};

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export type Watched = { readonly rpcUrl: string; readonly token: string };

export function fetchMetrics(
  { rpcUrl, token }: Watched,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${rpcUrl}/metrics`, { headers: { authorization: `Bearer ${token}`, ...headers } });
}

/** In the text format of Prometheus. */
export async function scrape(watched: Watched): Promise<Scrape> {
  const response = await fetchMetrics(watched);
  const text = await response.text();
  expect(response.status, text).to.equal(200);
  return parseMetrics(text);
}

export function parseMetrics(text: string): Scrape {
  const families = new Map<string, { type: string; help: string }>();
  const samples: Sample[] = [];
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, comment, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (comment === 'HELP') families.set(about, { type: '', help: rest });
    else if (comment === 'TYPE') families.set(about, { type: rest, help: families.get(about)?.help ?? '' });
    else if (!line.startsWith('#')) samples.push(readSample(line));
  }
  return {
    text,
    families,
    samples,
    sum: (name, labels = {}) =>
      samples
        .filter((each) => each.name === name)
        .filter((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value))
        .reduce((total, { value }) => total + value, 0),
  };
}

function readSample(line: string): Sample {
  const [, name, labels = '', value] = /^([a-z_:]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? expect.fail(line);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name: String(name),
    labels: Object.fromEntries(pairs.map(([, label, text]) => [String(label), String(text)])),
    value: Number(value),
  };
}

/** The increase of each sample that has grown. */
export function growth(before: Scrape, after: Scrape): Map<string, number> {
  const key = ({ name, labels }: Sample) => `${name}${JSON.stringify(labels)}`;
  const old = new Map(before.samples.map((sample) => [key(sample), sample.value]));
  const grown = after.samples.map((sample): [string, number] => [
    key(sample),
    sample.value - (old.get(key(sample)) ?? 0),
  ]);
  return new Map(grown.filter(([, by]) => by !== 0));
}
