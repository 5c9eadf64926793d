// The OpenAPI document by itself: as many operations as there are routes, and examples that are true.
import { createPublicKey, verify } from 'node:crypto';
import { createRouterTransport } from '@connectrpc/connect';
import canonicalize from 'canonicalize';
import { expect } from 'chai';
import { DRIVERS } from '../../../core/payment/providers/registry.ts';
import { gatewayRoutes } from '../../../gateway/routes/all-routes.ts';
import { createContract, DOCUMENT, OPERATIONS, operation } from './contract.ts';

describe('the operations of the OpenAPI document', () => {
  const contract = createContract();
  const routes = gatewayRoutes(createRouterTransport(() => {}));

  it('are the routes of the gateway, with one callback for each gateway', () => {
    const served = routes.flatMap(({ method, pattern, about }) => {
      if ('unlisted' in about) return [];
      if ('id' in about) return [`${method} ${pattern}`];
      return DRIVERS.map(
        ({ gateway, callback }) => `${callback.method} ${pattern.replace('{gateway}', gateway)}`,
      );
    });
    const described = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(described.sort()).to.deep.equal(served.sort());
  });

  it('omit only pages for customers and the parts of the reference page', () => {
    const left = routes
      .filter(({ about }) => 'unlisted' in about)
      .map(({ pattern }) => pattern.split('-')[0]);
    expect(left).to.deep.equal([
      '/v1/return/{sessionId}',
      '/buy/{app}/{offer}',
      '/orders/{sessionId}',
      '/docs/viewer',
      '/docs/viewer',
    ]);
  });

  it('have names that are valid function names', () => {
    const ids = OPERATIONS.map(({ id }) => id);
    for (const id of ids) expect(id).to.match(/^[a-z][A-Za-z0-9]*$/);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('have examples of requests and responses that match their schemas', () => {
    for (const { id, path, method, node } of OPERATIONS) {
      const place = ['paths', path, method];
      for (const [at, { schema, example }] of Object.entries<Described>(node.parameters ?? []))
        if (example !== undefined && schema)
          contract.hold([...place, 'parameters', at, 'schema'], example, id);
      const media = [
        ...contentsAt([...place, 'requestBody'], node.requestBody),
        ...contentsAt([...place, 'responses', '200'], node.responses['200']),
      ];
      for (const { at, example } of media) contract.hold([...at, 'schema'], example, id);
    }
  });

  it('have an example of a license that verifies with the examples of its key', () => {
    const answerOf = (id: string, type: string) => operation(id).node.responses['200'].content[type].example;
    const { license, publicKeyPem } = answerOf('activate', 'application/json');
    const { signature, ...signed } = license;
    const key = { key: createPublicKey(publicKeyPem), dsaEncoding: 'ieee-p1363' } as const;
    const text = Buffer.from(canonicalize(signed) ?? '');
    expect(verify('sha256', text, key, Buffer.from(signature, 'base64url'))).to.equal(true);
    expect(answerOf('getPublicKey', 'application/x-pem-file')).to.equal(publicKeyPem);
    const [jwk] = answerOf('getJwks', 'application/jwk-set+json').keys;
    expect(jwk).to.include({ ...key.key.export({ format: 'jwk' }), kid: license.kid });
  });

  it('have examples of every problem that match their schemas', () => {
    for (const [name, response] of Object.entries<{ content: Content }>(DOCUMENT.components.responses)) {
      for (const [type, { examples = {} }] of Object.entries(response.content)) {
        expect(examples, name).to.not.equal({});
        const place = ['components', 'responses', name, 'content', type, 'schema'];
        for (const { value } of Object.values(examples)) contract.hold(place, value, name);
      }
    }
  });
});

type Described = { readonly schema?: object; readonly example?: unknown };
type Content = {
  readonly [type: string]: Described & {
    readonly examples?: { readonly [name: string]: { value: unknown } };
  };
};

function contentsAt(place: readonly string[], { content = {} }: { content?: Content } = {}) {
  return Object.entries(content).flatMap(([type, { example }]) =>
    example === undefined ? [] : [{ at: [...place, 'content', type], example }],
  );
}
