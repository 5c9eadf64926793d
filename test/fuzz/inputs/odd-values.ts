// Values that often cause errors: texts, JSON, and damaged bytes.
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';

/**
 * Invalid texts, and valid but unusual ones. There are no lone surrogates, because UTF-8 cannot encode them.
 */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\r\nX-Header: 1',
    '\u202egnp.exe',
    '\ufeff',
    '\uffff',
    'e\u0301',
    '𝒳𝒴',
    '١٢٣',
    'İı',
    '__proto__',
    'constructor',
    'toString',
    "' or 1=1 --",
    '%00',
    '%',
    '../..',
    '{}',
    'null',
    'true',
    'NaN',
    '-1',
    '1e400',
    '9223372036854775808',
    '-',
    '*',
  ),
  ...['app', 'lic', 'seat', 'chs', 'cb', 'fee', 'slot'].map((prefix) =>
    fc.constantFrom(
      `${prefix}_`,
      `${prefix}_${'0'.repeat(26)}`,
      `${prefix}_${'7'}${'z'.repeat(25)}`,
      `${prefix}_${'z'.repeat(26)}`,
      `${prefix}_${'I'.repeat(26)}`,
    ),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom('x'.repeat(257), '0'.repeat(1025), 'é'.repeat(8193), '😀'.repeat(129)),
);

/** Texts of any JSON type, and some that are not JSON. */
export const oddJson: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    'null',
    'true',
    '0',
    '-0',
    '1e400',
    '9007199254740993',
    `${'9'.repeat(400)}`,
    '"\\ud800"',
    '"\\u0000"',
    '[]',
    '{}',
    '[{}]',
    'NaN',
    '"',
    '\u00a0{}',
    '\ufeff{}',
    '{"a":1,"a":2}',
    '{"__proto__":{"a":1}}',
    '{"":""}',
  ),
  fc.integer({ min: 1, max: 5_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  fc.integer({ min: 1, max: 2_000 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.json({ maxDepth: 4 }),
  oddText.map((text) => JSON.stringify(text)),
);

/** The text of a JSON object with one value or the whole structure changed. */
export function damagedJson(healthy: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const value = /:("(?:[^"\\]|\\.)*"|-?[\d.]+|true|false|null)/g;
  return fc.oneof(
    fc.tuple(healthy, oddJson, fc.nat(8)).map(([text, odd, turn]) => {
      let index = 0;
      return text.replace(value, (found) => (index++ === turn ? `:${odd}` : found));
    }),
    healthy.map((text) => text.replace(/^\{(("(?:[^"\\]|\\.)*"):.*)\}$/s, '{$2:1,$1}')),
    fc.tuple(healthy, oddText, oddJson).map(([text, name, odd]) => {
      const rest = text.slice(1);
      return `{${JSON.stringify(name)}:${odd}${rest === '}' ? '' : ','}${rest}`;
    }),
    fc.tuple(healthy, fc.nat(200)).map(([text, at]) => text.slice(0, at)),
    oddJson,
  );
}

/** The bytes unchanged, or partly changed, truncated, doubled or replaced. */
export function damagedBytes(healthy: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    fc
      .tuple(healthy, fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 6 }))
      .map(([bytes, changes]) => {
        const changed = Uint8Array.from(bytes);
        for (const [at, byte] of changes) if (changed.length > 0) changed[at % changed.length] = byte;
        return changed;
      }),
    fc.tuple(healthy, fc.nat(400)).map(([bytes, at]) => bytes.slice(0, at % (bytes.length + 1))),
    fc.tuple(healthy, healthy).map(([bytes, more]) => Buffer.concat([bytes, more])),
    fc.uint8Array({ maxLength: 200 }),
    // Unterminated nested messages: each byte opens a group.
    fc.integer({ min: 1, max: 3_000 }).map((depth) => new Uint8Array(depth).fill(0x0b)),
  );
}

export type Coded = { readonly coding: string | undefined; readonly bytes: Uint8Array };

const BOMB = Buffer.alloc(8 * 1024 * 1024);
const BOMBS: readonly Coded[] = [
  { coding: 'gzip', bytes: gzipSync(BOMB) },
  { coding: 'br', bytes: brotliCompressSync(BOMB.subarray(0, 2 * 1024 * 1024)) },
];

/** The bytes unchanged, compressed, or only declared as compressed. */
export function coded(healthy: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Coded> {
  return fc.oneof(
    { weight: 100, arbitrary: healthy.map((bytes) => ({ coding: undefined, bytes })) },
    { weight: 10, arbitrary: healthy.map((bytes) => ({ coding: 'gzip', bytes: gzipSync(bytes) })) },
    { weight: 5, arbitrary: healthy.map((bytes) => ({ coding: 'br', bytes: brotliCompressSync(bytes) })) },
    {
      weight: 1,
      arbitrary: fc.record({ coding: fc.constantFrom('gzip', 'br', 'identity', 'zip', ''), bytes: healthy }),
    },
    { weight: 1, arbitrary: fc.constantFrom(...BOMBS) },
  );
}
