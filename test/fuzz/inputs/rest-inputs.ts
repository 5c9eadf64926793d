// Requests to any route of the gateway, with good, odd and damaged methods, paths, queries, headers and
// bodies.
import fc from 'fast-check';
import type { Route } from '../../../gateway/routes/route.ts';
import type { Input } from './input.ts';
import { publicWords, type Words, wordsFor } from './message-json.ts';
import { coded, damagedBytes, damagedJson, oddText } from './odd-values.ts';
import { headerSafe } from './rpc-inputs.ts';

type Pair = readonly [name: string, value: string];

/** `claims`: the fields of callbacks for sessions of the hub. */
export type RestInputsOptions = {
  readonly routes: readonly Route[];
  readonly words: Words;
  readonly claims: readonly Readonly<Record<string, string>>[];
};

export function restInputs({ routes, words, claims }: RestInputsOptions): fc.Arbitrary<Input> {
  return fc.oneof(
    ...routes.map((route) => {
      // The files of the reference have no parameters and are large, so a few requests suffice.
      const weight = 'unlisted' in route.about && !route.isPage ? 1 : 10;
      return { weight, arbitrary: inputsOf(route, words, claims) };
    }),
  );
}

function inputsOf(route: Route, words: Words, claims: RestInputsOptions['claims']): fc.Arbitrary<Input> {
  const isCallback = route.method === 'any';
  const method = isCallback ? fc.constantFrom('GET', 'POST', 'POST', 'PUT') : fc.constant(route.method);
  const anyMethod = fc.oneof(
    { weight: 25, arbitrary: method },
    {
      weight: 1,
      arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'QUERY'),
    },
  );
  const claim = fc.constantFrom(...claims).map((fields) => Object.entries(fields));
  const query = isCallback ? fc.oneof(claim, pairs(publicWords(words))) : pairs(words, ['fp']);
  const form = fc
    .oneof({ weight: 2, arbitrary: claim }, { weight: 1, arbitrary: pairs(publicWords(words)) })
    .map(formText);
  const json = memberText(words);
  const text = isCallback
    ? form
    : fc.oneof({ weight: 3, arbitrary: json }, { weight: 2, arbitrary: damagedJson(json) });
  const bytes = text.map((each): Uint8Array => Buffer.from(each));
  const body = fc.oneof(
    { weight: 27, arbitrary: bytes },
    { weight: 3, arbitrary: damagedBytes(bytes) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Uint8Array>(Buffer.alloc(65_537, 'x'), Buffer.alloc(65_536, ' ')),
    },
  );
  const contentType = isCallback ? 'application/x-www-form-urlencoded' : 'application/json';
  return fc
    .record({
      method: anyMethod,
      path: pathOf(route, words),
      query: queryText(query),
      headers,
      body: coded(body),
    })
    .map(({ body: { coding, bytes: sent }, ...each }) => {
      const hasBody = each.method !== 'GET' && each.method !== 'HEAD';
      return {
        port: 'gateway' as const,
        target: `${route.method} ${route.pattern}`,
        protocol: 'rest' as const,
        http: 1 as const,
        method: each.method,
        // The server refuses longer ones before it parses the method, so a HEAD would get a response with a
        // body.
        path: `${each.path}${each.query}`.slice(0, 8_000),
        headers: {
          ...(hasBody && { 'content-type': contentType }),
          ...(hasBody && coding !== undefined && { 'content-encoding': coding }),
          ...each.headers,
        },
        body: hasBody ? sent : Buffer.alloc(0),
      };
    });
}

/** The pattern with its segments replaced, and occasionally another path. */
function pathOf({ pattern }: Route, words: Words): fc.Arbitrary<string> {
  const segmentOf = (known: readonly string[]): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...known) },
      { weight: 2, arbitrary: oddText.map(encodeURIComponent) },
      { weight: 1, arbitrary: fc.constantFrom(...Object.values(words).flat()).map(encodeURIComponent) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('%', '%zz', '%ff', '%c0%80', '%ed%a0%80', '..', '.', '%2f', 'é', ';a=1'),
      },
    );
  // Texts and names of parameters take turns.
  const parts = pattern
    .split(/[{}]/)
    .map((part, index) => (index % 2 === 0 ? fc.constant(part) : segmentOf(wordsFor(words, part))));
  const good = fc.tuple(...parts).map((each) => each.join(''));
  const bad = fc.oneof(
    good.map((path) => `${path}/`),
    good.map((path) => path.toUpperCase()),
    good.map((path) => `/${path}`),
    good.map((path) => `http://elsewhere${path}`),
    oddText.map((text) => `/${encodeURIComponent(text)}`),
    fc.constantFrom('*', '/', '//', '/v1', '/v1/', '/v1/apps', '/%00', '/\u00ff'),
  );
  return fc
    .oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: bad })
    .map((path) => path.slice(0, 8_000));
}

/** Fields of endpoints with their own values, values of other fields, or odd ones. */
function pairs(words: Words, names: readonly string[] = Object.keys(words)): fc.Arbitrary<Pair[]> {
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: oddText },
  );
  const pair = name.chain((each) => {
    const own = wordsFor(words, each);
    const value =
      own.length > 0
        ? fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...own) }, { weight: 1, arbitrary: oddText })
        : oddText;
    return value.map((text): Pair => [each, text]);
  });
  return fc.array(pair, { maxLength: 5 });
}

function formText(fields: readonly Pair[]): string {
  return fields.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
}

function queryText(query: fc.Arbitrary<readonly Pair[]>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: query.map((fields) => (fields.length === 0 ? '' : `?${formText(fields)}`)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '?',
        '?fp',
        '?fp=',
        '?fp=%',
        '?fp=%ff',
        '?fp=a&fp=b',
        '?fp[]=a',
        '?&&&',
        '?=',
        '?a=%00',
        '?+',
      ),
    },
  );
}

/** JSON with the members that the license endpoints read. */
function memberText(words: Words): fc.Arbitrary<string> {
  const member = (name: string, odds: number) =>
    fc.oneof(
      { weight: odds, arbitrary: fc.constantFrom(...wordsFor(words, name)) },
      { weight: 1, arbitrary: oddText },
    );
  return fc
    .record(
      {
        licenseKey: member('licenseKey', 12),
        machineFingerprint: member('machineFingerprint', 8),
        machineLabel: member('machineLabel', 4),
        appVersion: member('appVersion', 4),
      },
      { requiredKeys: ['licenseKey', 'machineFingerprint'] },
    )
    .map((members) => JSON.stringify(members));
}

const header: fc.Arbitrary<Pair> = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'content-type',
      'if-none-match',
      'x-forwarded-for',
      'forwarded',
      'accept',
      'x-request-id',
      'cookie',
      'origin',
    ),
    oddText.map(headerSafe),
  ),
  fc.constantFrom<Pair[]>(
    ['content-type', 'application/json; charset=utf-8'],
    ['content-type', 'application/json;charset=latin1'],
    ['content-type', 'text/plain'],
    ['content-type', 'multipart/form-data; boundary=x'],
    ['if-none-match', '*'],
    ['if-none-match', '"a", W/"b"'],
    ['expect', '100-continue'],
    ['expect', 'tea'],
    ['x-forwarded-for', '1.2.3.4, ::1, x'],
    ['transfer-encoding', 'chunked'],
    ['host', 'elsewhere'],
    ['range', 'bytes=0-1'],
    ['connection', 'close'],
  ),
);

const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.array(header, { minLength: 1, maxLength: 3 }).map((some) => Object.fromEntries(some)),
  },
);
