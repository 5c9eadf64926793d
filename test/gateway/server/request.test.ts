// How a request target finds its route and gives its parameters.
import { expect } from 'chai';
import { Problem } from '../../../gateway/problem.ts';
import type { Route } from '../../../gateway/routes/route.ts';
import { createMatcher, parseTarget } from '../../../gateway/server/request.ts';

const PATTERNS = [
  '/healthz',
  '/v1/status/{licenseId}',
  '/v1/apps/{slug}/public-key',
  '/v1/apps/{slug}/limits/free',
  '/buy/{app}/{offer}',
];
const match = createMatcher(PATTERNS.map((pattern) => route(pattern)));

function route(pattern: string): Route {
  const answer = { status: 200, contentType: 'text/plain', body: '' };
  return { method: 'GET', pattern, limited: false, about: { unlisted: 'a test' }, handle: () => answer };
}

/** The pattern and the parameters that a target leads to. */
function find(target: string): [string, ...string[]] | undefined {
  const found = match(parseTarget(target).segments);
  return found && [found.route.pattern, ...found.params];
}

describe('the route of a target', () => {
  it('is found by its path only', () => {
    expect(find('/healthz')).to.deep.equal(['/healthz']);
    expect(find('/healthz?a=b/c')).to.deep.equal(['/healthz']);
    expect(find('/v1/apps/demo/limits/free')).to.deep.equal(['/v1/apps/{slug}/limits/free', 'demo']);
  });

  it('decodes the parameter once, including an encoded slash', () => {
    expect(find('/v1/status/lic_1')).to.deep.equal(['/v1/status/{licenseId}', 'lic_1']);
    expect(find('/v1/status/a%2Fb%20%C3%A9')).to.deep.equal(['/v1/status/{licenseId}', 'a/b é']);
    expect(find('/v1/status/%2541')).to.deep.equal(['/v1/status/{licenseId}', '%41']);
    expect(find('/buy/demo/pro%2Fmax')).to.deep.equal(['/buy/{app}/{offer}', 'demo', 'pro/max']);
    expect(find('/v1/status/{licenseId}')).to.deep.equal(['/v1/status/{licenseId}', '{licenseId}']);
  });

  it('is found in the absolute form too', () => {
    expect(find('http://hub.example:80/v1/status/x?fp=1')).to.deep.equal(['/v1/status/{licenseId}', 'x']);
    expect(find('http://hub.example')).to.equal(undefined);
  });

  it('is not found for other paths, a trailing slash or an empty parameter', () => {
    for (const target of [
      '/',
      '/healthz/',
      '/Healthz',
      '//healthz',
      '/v1/status/',
      '/v1/status',
      '/v1/status/x/',
      '/v1/apps//public-key',
      '/v1/apps/a%2Fpublic-key',
      '/v1/status/../status/x',
      '/v1/%73tatus/x',
      '/v1%2Fstatus/x',
      '/%2e/healthz',
      '\\healthz',
      '*',
    ]) {
      expect(find(target), target).to.equal(undefined);
    }
  });

  it('is refused with a broken escape or invalid UTF-8 in the path or the query', () => {
    for (const target of [
      '/%',
      '/v1/status/%zz',
      '/v1/status/%C3',
      '/v1/status/%ED%A0%80',
      '/healthz?a=%ff',
      '/é',
      '/healthz#top',
    ]) {
      expect(() => parseTarget(target), target)
        .to.throw(Problem)
        .with.property('code', 'invalid_request');
    }
  });
});
