import { expect } from 'chai';
import { isProblemCode, PROBLEMS } from '../../gateway/problem.ts';
import { follow, OPERATIONS } from '../gateway/openapi/contract.ts';
import { codeRows, readPage } from './markdown.ts';

/** Told once for all endpoints. */
const COMMON =
  /^(invalid_json|invalid_request|request_timeout|body_too_large|unsupported_media_type|rate_limited|overloaded|unavailable)$/;

describe('docs/rest.md', () => {
  const page = readPage('docs/rest.md');
  const sections = page.split(/^## /m).slice(1);

  it('lists every error code with its status', () => {
    const [, section = ''] = page.split('## Errors');
    const rows = codeRows(section).map(([code, status]) => [code, Number(status)]);
    expect(rows).to.deep.equal(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]));
  });

  it('has every operation of the OpenAPI document except the webhooks, and no others', () => {
    const headings = sections.flatMap(
      (section) => section.split('\n')[0]?.match(/(GET|POST) \/[^\s?,]*/g) ?? [],
    );
    const operations = OPERATIONS.filter(({ path }) => !path.startsWith('/v1/webhooks/'));
    expect(headings.sort()).to.deep.equal(
      operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort(),
    );
  });

  it('names the specific codes and the members of each operation', () => {
    for (const { id, path, method, node } of OPERATIONS.filter(
      (each) => each.path.startsWith('/v1/') && !each.path.includes('webhooks'),
    )) {
      const section = sections.find((each) => each.startsWith(`${method.toUpperCase()} ${path}`)) ?? '';
      const words = [...section.matchAll(/`(\w+)`/g)].map(([, word = '']) => word);
      const place = ['paths', path, method, 'responses'];
      const codes = Object.keys(node.responses)
        .filter((status) => status !== 'default')
        .flatMap((status) =>
          Object.keys(follow([...place, status]).node.content?.['application/problem+json']?.examples ?? {}),
        )
        .filter((code) => !COMMON.test(code));
      expect([...new Set(words.filter(isProblemCode))].sort(), id).to.deep.equal(codes.sort());
      if (node.requestBody === undefined) continue;
      const body = follow(['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']);
      expect(words, id).to.include.members(Object.keys(body.node.properties));
    }
  });
});
