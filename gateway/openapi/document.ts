// Builds the OpenAPI document of the gateway from its routes.
import type { PaymentDriver } from '../../core/payment/providers/driver.ts';
import type { JsonSchema, Tag } from '../routes/operation.ts';
import type { Route } from '../routes/routes.ts';
import { callbackId, callbackObject } from './callback-object.ts';
import type { Comments } from './comments.ts';
import { createComponents } from './components.ts';
import { EXAMPLES } from './examples.ts';
import { operationObject } from './operation-object.ts';

export type DocumentParts = {
  readonly routes: readonly Route[];
  readonly drivers: readonly PaymentDriver[];
  readonly comments: Comments;
  /** Version of the package. */
  readonly version: string;
};

/** Returns the OpenAPI 3.1 document. */
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
      summary: 'License activation for desktop applications, and the callbacks of payment providers.',
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
    },
  };
}

function at(path: string, method: string, operation: JsonSchema) {
  return { path, method: method.toLowerCase(), operation };
}

const DESCRIPTION = `Bodies are JSON in UTF-8 unless said otherwise; members that an operation does not know are ignored.
\`HEAD\` works wherever \`GET\` does, except for callbacks. No credentials are asked for: a license key is one, and a
callback is believed only after the provider was asked.

**Errors** are problem documents (RFC 9457) with a stable \`code\`. A path that is not listed here is answered
\`not_found\`, and another method \`method_not_allowed\`, with \`Allow\`.

**Rate.** A client is an IPv4 address or an IPv6 /64. It has about 60 requests a minute, unless the hub is set up
otherwise, over all operations whose answers carry \`RateLimit\`. Wrong guesses at keys and fingerprints are limited
besides.`;

const TAGS: { readonly [tag in Tag]: string } = {
  Licenses: 'What a desktop application calls to get, keep and give back its seat.',
  'Keys and limits': 'What a desktop application may be built with, or fetch now and then.',
  'Payment callbacks': 'What payment providers call when a customer is done at the checkout.',
  Health: 'What orchestrators and load balancers ask.',
  Reference: 'This document and a page that shows it.',
};

const PARAMETERS: JsonSchema = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'Entity tags of answers that the client has.',
    schema: { type: 'string' },
  },
};

const HEADERS: { readonly [name: string]: JsonSchema } = {
  RequestId: {
    description: 'Is in the log of the hub, too.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  RetryAfter: {
    description: 'Seconds until it is worth to try again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  EntityTag: {
    description: 'A strong entity tag.',
    required: true,
    schema: { type: 'string', pattern: '^"[^"]+"$' },
  },
  CacheControl: {
    description: 'How long the answer may be kept.',
    required: true,
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'What the client has left (draft-ietf-httpapi-ratelimit-headers): requests, and seconds until there are more. Absent if the hub sets no limit.',
    schema: { type: 'string', pattern: '^"license";r=[0-9]+;t=[0-9]+$' },
  },
  RateLimitPolicy: {
    description: 'How many requests a client has, in how many seconds. Absent if the hub sets no limit.',
    schema: { type: 'string', pattern: '^"license";q=[0-9]+;w=[0-9]+$' },
  },
};
