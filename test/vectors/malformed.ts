// Texts that two readers could understand differently, or not at all. What can be signed is signed.
import { type Case, FULL, PLAIN, textOf } from './case.ts';

const text = textOf(FULL);
const DEEP_LISTS = `${'['.repeat(2000)}${']'.repeat(2000)}`;

export const MALFORMED: readonly Case[] = [
  malformed('twice-last', 'a member twice; the last one is signed', text.replace('{', '{"customer":"Eve",')),
  malformed(
    'twice-first',
    'a member twice; the first one is signed',
    text.replace(/\}$/, ',"customer":"Eve"}'),
  ),
  malformed('twice-same', 'a member twice, with the same value', text.replace('{', `{"app":"${FULL.app}",`)),
  malformed(
    'twice-escaped',
    'a member twice, once with an escape',
    text.replace('{', '{"\\u0063ustomer":"Eve",'),
  ),
  malformed('twice-limit', 'a limit twice', text.replace('"limits":{', '"limits":{"projects":-1,')),
  malformed(
    'twice-license',
    'an answer with two licenses',
    `{"license":${textOf({ ...FULL, customer: 'Eve' })},"license":${text}}`,
  ),

  malformed('number-exponent', '100 written as 1e2', limits('1e2')),
  malformed('number-fraction-zero', '1 written as 1.0', limits('1.0')),
  malformed('number-minus-zero', '0 written as -0', limits('-0')),
  malformed('number-fraction', 'a fraction', limits('1.5')),
  malformed('number-2-53', '2^53, which doubles cannot tell from 2^53+1', limits('9007199254740992')),
  malformed('number-minus-2-53', '-2^53', limits('-9007199254740992')),
  malformed('number-2-53-and-1', '2^53+1, which a double rounds to 2^53', limits('9007199254740993')),
  malformed('number-2-63', '2^63, which 64 bits with a sign cannot hold', limits('9223372036854775808')),
  malformed('number-2-64-and-1', '2^64+1, which is 1 in 64 bits', limits('18446744073709551617')),
  malformed('number-exponent-huge', 'a number that no double holds', text.replace(':3,', ':1e400,')),
  malformed('number-long', 'a number of 5000 digits', text.replace(':3,', `:${'9'.repeat(5000)},`)),
  malformed('number-leading-zero', '3 written as 03', text.replace(':3,', ':03,')),
  malformed('number-plus', '3 written as +3', text.replace(':3,', ':+3,')),
  malformed('number-hexadecimal', '3 written as 0x3', text.replace(':3,', ':0x3,')),
  malformed('number-nan', 'NaN, which some readers take', text.replace(':3,', ':NaN,')),
  malformed('number-infinity', 'Infinity, which some readers take', text.replace(':3,', ':Infinity,')),
  malformed('number-arabic', '3 in another script', text.replace(':3,', ':\u0663,')),

  malformed('null-customer', 'a customer that is null', textOf({ ...FULL, customer: null })),
  malformed('null-limits', 'limits that are null', textOf({ ...FULL, limits: null })),
  malformed('null-expires', 'an expiry that is null', textOf({ ...FULL, expiresAt: null })),
  malformed('null-extra', 'a later member that is null', textOf({ ...FULL, edition: null })),
  malformed('boolean', 'a later member that is true', textOf({ ...FULL, trial: true })),
  malformed('null-features', 'features that are null', textOf({ ...FULL, features: null })),
  malformed('null-metadata', 'metadata that are null', textOf({ ...FULL, metadata: null })),
  malformed('null-grace', 'a grace that is null', textOf({ ...FULL, graceEndsAt: null })),
  malformed('array-null', 'a list with null', textOf({ ...FULL, features: ['export', null] })),
  malformed('array-boolean', 'a list with false', textOf({ ...FULL, features: [false] })),
  malformed('array-fraction', 'a list with a fraction', textOf({ ...FULL, modules: [1.5] })),
  malformed(
    'array-name',
    'a list with a member whose name has a space',
    textOf({ ...FULL, modules: [{ 'a b': 1 }] }),
  ),
  malformed(
    'array-exponent',
    'a list with 100 written as 1e2',
    textOf({ ...FULL, modules: [100] }).replace('[100]', '[1e2]'),
  ),
  malformed('array-comma', 'a comma after the last item of a list', text.replace('"sync"]', '"sync",]')),
  malformed('array-hole', 'a list with a hole', text.replace('["export",', '["export",,')),
  malformed('array-surrogate', 'a list with half a character', text.replace('"sync"]', '"\\ud83d"]')),
  malformed(
    'array-twice',
    'a list with a member twice',
    textOf({ ...FULL, modules: [{ a: 1 }] }).replace('{"a":1}', '{"a":2,"a":1}'),
  ),
  malformed(
    'array-deep',
    'lists within each other, 2000 of them',
    text.replace('["export",', `[${'['.repeat(1999)}${']'.repeat(1999)},`),
  ),
  malformed('twice-features', 'the features twice', text.replace('{', '{"features":["all"],')),
  malformed('metadata-fraction', 'metadata with a fraction', textOf({ ...FULL, metadata: { plan: 1.5 } })),
  malformed('metadata-boolean', 'metadata with true', textOf({ ...FULL, metadata: { plan: true } })),
  malformed('terms-version-fraction', 'a version that is a fraction', textOf({ ...FULL, termsVersion: 1.5 })),
  malformed('time-grace-number', 'a grace that is a number', textOf({ ...FULL, graceEndsAt: 1811808000 })),
  malformed('time-grace-date', 'a grace without a time', textOf({ ...FULL, graceEndsAt: '2027-06-15' })),
  malformed('name-digits', 'a member whose name is a number', textOf({ ...FULL, limits: { 9: 1 } })),
  malformed('name-empty', 'a member without a name', textOf({ ...FULL, limits: { '': 1 } })),
  malformed('name-unicode', 'a member whose name is no ASCII', textOf({ ...FULL, limits: { '\u00e9': 1 } })),
  malformed('name-space', 'a member whose name has a space', textOf({ ...FULL, limits: { 'a b': 1 } })),
  malformed(
    'name-proto',
    'a member that some readers swallow',
    textOf({ ...FULL, ...JSON.parse('{"__proto__":{}}') }),
  ),
  malformed('deep', 'objects within each other, 2000 of them', withDeep(2000)),
  malformed(
    'deep-signature',
    'a signature of 2000 lists within each other',
    text.replace(/(?<="signature":)"[^"]+"/, DEEP_LISTS),
  ),
  malformed(
    'deep-answer',
    '2000 lists within each other in an answer, beside a good license',
    `{"ok":true,"license":${text},"publicKeyPem":"not looked at","hints":${DEEP_LISTS}}`,
  ),

  malformed('surrogate-high', 'half a character, the first half', asEscapes('\\ud83d')),
  malformed('surrogate-low', 'half a character, the second half', asEscapes('\\ude00')),
  malformed('surrogate-swapped', 'the halves of a character, swapped', asEscapes('\\ude00\\ud83d')),
  malformed('surrogate-apart', 'the halves of a character apart', asEscapes('\\ud83d\\n\\ude00')),
  malformed('surrogate-twice', 'a first half, then a whole character', asEscapes('\\ud83d\\ud83d\\ude00')),
  malformed(
    'surrogate-signature',
    'half a character after a good signature',
    text.replace(/(?<="signature":"[^"]+)"/, '\\ud83d"'),
  ),
  malformed(
    'half-signature',
    'a signature that is half a character',
    text.replace(/(?<="signature":")[^"]+/, '\\ude00'),
  ),
  malformed(
    'surrogate-answer',
    'half a character in an answer, beside a good license',
    `{"ok":true,"license":${text},"publicKeyPem":"\\ud83d"}`,
  ),
  malformed(
    'surrogate-answer-name',
    'half a character in the name of a member of an answer',
    `{"ok":true,"license":${text},"\\udfff":1}`,
  ),
  malformed(
    'surrogate-answer-within',
    'half a character deep in an answer, beside a good license',
    `{"ok":true,"license":${text},"hints":[{"text":["\\udbff "]}]}`,
  ),
  malformed('utf8-invalid', 'a byte that is no UTF-8', asBytes(0xff)),
  malformed('utf8-overlong', 'a slash in two bytes', asBytes(0xc0, 0xaf)),
  malformed('utf8-surrogate', 'half a character in three bytes', asBytes(0xed, 0xa0, 0xbd)),
  malformed('utf8-cut', 'a character that is cut off', asBytes(0xe2, 0x82)),
  malformed('utf16', 'UTF-16 with a byte order mark', Buffer.from(`\ufeff${text}`, 'utf16le')),
  malformed('byte-order-mark', 'UTF-8 with a byte order mark', `\ufeff${text}`),

  malformed('json-empty', 'nothing', ''),
  malformed('json-null', 'null', 'null'),
  malformed('json-text', 'text', '"license"'),
  malformed('json-number', 'a number', '1'),
  malformed('json-array', 'a list with a license in it', `[${text}]`),
  malformed('json-license-null', 'an answer whose license is null', '{"ok":true,"license":null}'),
  malformed('json-license-number', 'an answer whose license is a number', '{"ok":true,"license":1}'),
  malformed(
    'json-license-text',
    'an answer whose license is text',
    JSON.stringify({ ok: true, license: text }),
  ),
  malformed('json-cut', 'the end is missing', text.slice(0, -1)),
  malformed('json-more', 'something after the end', `${text}{}`),
  malformed('json-comma', 'a comma after the last member', text.replace(/\}$/, ',}')),
  malformed('json-comma-missing', 'no comma between two members', text.replace('",', '"')),
  malformed('json-comment', 'a comment', text.replace('{', '{/* */')),
  malformed('json-quotes', 'single quotes', text.replaceAll('"', "'")),
  malformed('json-names-bare', 'a name without quotes', text.replace('"app"', 'app')),
  malformed('json-escape', 'an escape that is none', text.replace('Ada', '\\x41da')),
  malformed('json-escape-short', 'an escape of three digits', text.replace('Ada ', '\\u041')),
  malformed('json-control', 'a control character as it is', text.replace('Ada', 'Ada\t')),
  malformed('json-space', 'a space that is none in JSON', text.replace(':', ':\u00a0')),
  malformed('json-form-feed', 'a form feed between members', text.replace(',', ',\f')),
  malformed('json-null-byte', 'a null byte after the end', `${text}\0`),
  malformed('json-true-upper', 'True, which some readers take', `{"ok":True,"license":${text}}`),

  malformed('time-number', 'an expiry that is a number', textOf({ ...FULL, expiresAt: 1811808000 })),
  malformed('time-object', 'an expiry that is an object', textOf({ ...FULL, expiresAt: {} })),
  malformed('time-empty', 'an expiry that is empty', textOf({ ...FULL, expiresAt: '' })),
  malformed('time-date', 'an expiry without a time', textOf({ ...FULL, expiresAt: '2027-06-01' })),
  malformed(
    'time-seconds',
    'an expiry without milliseconds',
    textOf({ ...FULL, expiresAt: '2027-06-01T00:00:00Z' }),
  ),
  malformed(
    'time-zone',
    'an expiry in another zone',
    textOf({ ...FULL, expiresAt: '2027-06-01T00:00:00.000+02:00' }),
  ),
  malformed(
    'time-line',
    'a line break after a lease',
    textOf({ ...FULL, leaseExpiresAt: '2027-06-01T00:00:00.000Z\n' }),
  ),
  malformed(
    'time-digits',
    'a lease in digits of another script',
    textOf({ ...FULL, leaseExpiresAt: '\u0662027-06-01T00:00:00.000Z' }),
  ),
];

function malformed(name: string, about: string, license: string | Uint8Array): Case {
  return { name: `malformed-${name}`, about, expected: 'malformed', license };
}

/** A limit in this spelling, signed as a lenient reader takes it. */
function limits(spelling: string): string {
  return textOf({ ...PLAIN, limits: { bytes: Number(spelling) } }).replace(/(?<="bytes":)[^}]+/, spelling);
}

/** Deeper than `JSON.stringify` may go; its signature is that of a license without it. */
function withDeep(levels: number): string {
  return text.replace('{', `{"deep":${'{"in":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)},`);
}

/** A signed license with these escapes, signed as a lenient reader takes them: U+FFFD for each half character. */
function asEscapes(escapes: string): string {
  const customer = JSON.parse(`"${escapes}"`).toWellFormed();
  return textOf({ ...FULL, customer }).replace(JSON.stringify(customer), `"${escapes}"`);
}

/**
 * A signed license with these bytes, signed as a lenient reader decodes them: U+FFFD for invalid characters.
 */
function asBytes(...bytes: number[]): Uint8Array {
  const customer = Buffer.from(bytes).toString();
  const [before = '', after = ''] = textOf({ ...FULL, customer }).split(customer);
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
}
