// Which JSON texts are taken, and which are refused although a lax parser would take them.
import { expect } from 'chai';
import fc from 'fast-check';
import { parseJsonObject } from '../../../gateway/body/strict-json.ts';
import { Problem } from '../../../gateway/problem.ts';

function refusalOf(text: string): Problem {
  try {
    parseJsonObject(text);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error(`taken: ${text.slice(0, 80)}`);
}

describe('strict JSON', () => {
  it('accepts every object that JSON.stringify writes', () => {
    const objects = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }));
    fc.assert(
      fc.property(objects, (object) => {
        const text = JSON.stringify(object, null, 1);
        expect(parseJsonObject(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('accepts escapes, colons and quotes in strings', () => {
    const value = { 'a:"b\\': 'c:d\\"', 'é\u{1f600}': ':::', '': '\\' };
    expect(parseJsonObject(JSON.stringify(value))).to.deep.equal(value);
    expect(parseJsonObject('{"a":"\\ud83d\\ude00"}')).to.deep.equal({ a: '\u{1f600}' });
  });

  it('treats __proto__ as a normal member', () => {
    const value = parseJsonObject('{"__proto__":{"licenseKey":"x"},"a":1}');
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
    expect(value['licenseKey']).to.equal(undefined);
    expect(Object.keys(value)).to.deep.equal(['__proto__', 'a']);
  });

  it('accepts nesting of any depth', () => {
    const depth = 30_000;
    const value = parseJsonObject(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(value).to.have.property('a').that.is.an('array');
  });

  it('refuses duplicate members at any depth, in any spelling', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"x":[{"y":{"a":1,"b":2,"a":3}}]}',
      '{"__proto__":1,"__proto__":2}',
      '{"":1,"":2}',
    ]) {
      expect(refusalOf(text).message, text).to.contain('two members with the same name');
    }
  });

  it('refuses lone surrogates in values and names', () => {
    for (const text of [
      '{"a":"\\ud800"}',
      '{"a":[["x\\udc00"]]}',
      '{"\\ud800":1}',
      '{"a":"\\ude00\\ud83d"}',
    ]) {
      expect(refusalOf(text).code, text).to.equal('invalid_json');
      expect(refusalOf(text).message, text).to.contain('surrogate');
    }
  });

  it('refuses a byte order mark by name', () => {
    expect(refusalOf('\ufeff{}').message).to.contain('byte order mark');
  });

  it('refuses invalid JSON, and never quotes it', () => {
    for (const text of [
      '',
      '{',
      "{'a':1}",
      '{"licenseKey":"SECRET-KEY",}',
      '{"a":SECRET}',
      '{"a":01}',
      '{"a":NaN}',
    ]) {
      const problem = refusalOf(text);
      expect(problem.code, text).to.equal('invalid_json');
      expect(problem.message, text).not.to.contain('SECRET');
    }
    expect(refusalOf('{"a":1,}').message).to.contain('at character 7');
  });

  it('refuses JSON that is not an object', () => {
    for (const text of ['null', '[]', '"a"', '1', 'true', '[{"a":1}]']) {
      expect(refusalOf(text).code, text).to.equal('invalid_request');
    }
  });
});
