// Builds the OpenAPI document of the gateway from its routes.
import type { PaymentDriver } from '../../core/payment/providers/driver.ts';
import type { JsonSchema, Tag } from '../routes/openapi-operation.ts';
import type { Route } from '../routes/route.ts';
import { callbackId, callbackObject } from './callback-object.ts';
import type { Comments } from './comments.ts';
import { createComponents } from './components.ts';
import { EXAMPLES } from './examples.ts';
import { operationObject } from './operation-object.ts';

export type DocumentParts = {
  readonly routes: readonly Route[];
  readonly drivers: readonly PaymentDriver[];
  readonly comments: Comments;
  readonly version: string;
};

export function openApiDocument({ routes, drivers, comments, version }: DocumentParts): JsonSchema {
  const components = createComponents();
  const parts = { components, comments };
  const operations = routes.flatMap((route) => {
    const { about } = route;
    if ('unlisted' in about) return [];
    if ('id' in about) {
      const example = EXAMPLES[about.id] ?? {};
      return [at(route.pattern, route.method, operationObject(route, about, example, parts))];
    }
    return drivers.map((driver) => {
      const example = EXAMPLES[callbackId(driver)];
      const path = route.pattern.replace('{gateway}', driver.gateway);
      return at(path, driver.callback.method, callbackObject(driver, about, example, parts));
    });
  });
  const paths: Record<string, JsonSchema> = {};
  for (const { path, method, operation } of operations) paths[path] = { ...paths[path], [method]: operation };
  return {
    openapi: '3.1.1',
    info: {
      title: 'hub',
      summary: 'License activation for desktop applications, and callbacks of payment providers.',
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      version,
    },
    servers: [{ url: '/', description: 'This hub' }],
    security: [],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas,
      responses: components.responses,
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function at(path: string, method: string, operation: JsonSchema) {
  return { path, method: method.toLowerCase(), operation };
}

const DESCRIPTION = `Bodies are JSON in UTF-8 unless stated otherwise. Unknown members are ignored.
\`HEAD\` works wherever \`GET\` does, except for callbacks. Only \`getOrder\` requires credentials: a license key is one,
and the hub confirms each callback with the provider.

**Errors** are problem documents (RFC 9457) with a stable \`code\`. An unlisted path returns \`not_found\`; another
method returns \`method_not_allowed\` with \`Allow\`.

**Rate limits.** A client is an IPv4 address or an IPv6 /64. Unless the hub is configured otherwise, it has about 60
requests a minute for all operations whose responses carry \`RateLimit\`. Wrong guesses of keys and fingerprints have
their own limit, and so have wrong claim tokens.`;

const TAGS: { readonly [tag in Tag]: string } = {
  Licenses: 'Called by desktop applications to get, keep and release their seats.',
  'Keys and limits': 'Data that a desktop application includes in its build or fetches from time to time.',
  Orders: 'Called by a shop after a customer returns from the checkout.',
  'Payment callbacks': 'Called by payment providers when a customer leaves the checkout.',
  Health: 'Called by orchestrators and load balancers.',
  Reference: 'This document, and a page that displays it.',
};

const SECURITY_SCHEMES: JsonSchema = {
  claimToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A claim token of the session, which the hub returns to the shop that creates the session.',
  },
};

const PARAMETERS: JsonSchema = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'Entity tags of responses that the client has cached.',
    schema: { type: 'string' },
  },
};

const required = (description: string, schema: JsonSchema): JsonSchema => ({
  description,
  required: true,
  schema,
});

const HEADERS: { readonly [name: string]: JsonSchema } = {
  RequestId: required('Identifier of the request. The hub logs it.', { type: 'string', format: 'uuid' }),
  RetryAfter: required('Seconds to wait before a retry.', { type: 'integer', minimum: 1 }),
  EntityTag: required('A strong entity tag.', { type: 'string', pattern: '^"[^"]+"$' }),
  CacheControl: required('How long the response may be cached.', { type: 'string' }),
  RateLimit: {
    description:
      'Requests that the client has left, and seconds until they are refilled (draft-ietf-httpapi-ratelimit-headers). Absent if the hub sets no limit.',
    schema: { type: 'string', pattern: '^"(license|order)";r=[0-9]+;t=[0-9]+$' },
  },
  RateLimitPolicy: {
    description: 'Number of requests allowed, and the period in seconds. Absent if the hub sets no limit.',
    schema: { type: 'string', pattern: '^"(license|order)";q=[0-9]+;w=[0-9]+$' },
  },
};
