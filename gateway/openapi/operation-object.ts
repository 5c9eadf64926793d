// Builds the OpenAPI Operation Object of a route.
import type { DescField } from '@bufbuild/protobuf';
import type { ProblemCode } from '../problem.ts';
import type { JsonSchema, Operation } from '../routes/openapi-operation.ts';
import type { Route } from '../routes/route.ts';
import type { Example } from './examples.ts';
import { fieldSchema, isRequired, type Parts, responseSchema } from './message-schema.ts';
import { OF_ANY_BODY, problemResponses } from './problem-responses.ts';

/** @throws Error if an operation lacks an example */
export function operationObject(route: Route, about: Operation, example: Example, parts: Parts): JsonSchema {
  const { method, pattern, limited, fieldNames = {} } = route;
  const { id, tag, summary, rpc, bearer } = about;
  const named = (rpc?.input.fields ?? []).filter(({ name }) => name !== bearer);
  const fields = named.map((field) => {
    const name = fieldNames[field.name] ?? field.jsonName;
    return { name, field, isInPath: pattern.includes(`{${name}}`) };
  });
  const others = fields.filter(({ isInPath }) => !isInPath);
  const isPost = method === 'POST';
  const parameters = [
    ...fields
      .filter((each) => (isPost ? each.isInPath : true))
      .map((each) => parameter(each, id, example, parts)),
    ...(about.response.tagged ? [{ $ref: '#/components/parameters/IfNoneMatch' }] : []),
  ];
  const problems: ProblemCode[] = [
    ...about.problems,
    ...(rpc ? (['unavailable'] as const) : []),
    ...(limited ? (['rate_limited', 'overloaded'] as const) : []),
    ...(isPost ? (['invalid_json', ...OF_ANY_BODY] as const) : []),
    ...(isPost || pattern.includes('{') ? (['invalid_request'] as const) : []), // a broken percent escape
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: about.description ?? (rpc ? parts.comments.ofMethod(rpc) : summary),
    ...(bearer !== undefined && { security: [{ claimToken: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(isPost && { requestBody: requestBody(rpc?.input.name, others, example, parts) }),
    responses: { ...successResponses(about, limited, example, parts), ...problemResponses(problems, parts) },
  };
}

type RequestField = { readonly name: string; readonly field: DescField; readonly isInPath: boolean };

function parameter(
  { name, field, isInPath }: RequestField,
  id: string,
  { parameters }: Example,
  parts: Parts,
): JsonSchema {
  const { description, ...schema } = fieldSchema(field, parts);
  const example = parameters?.[name];
  if (example === undefined) throw new Error(`${id} needs an example of ${name}`);
  return {
    name,
    in: isInPath ? 'path' : 'query',
    required: isInPath || isRequired(field),
    description,
    schema,
    example,
  };
}

function requestBody(
  title: string | undefined,
  fields: readonly RequestField[],
  { body }: Example,
  parts: Parts,
): JsonSchema {
  const schema = parts.components.schema({
    title,
    type: 'object',
    properties: Object.fromEntries(
      fields.map(({ name, field }) => {
        const member = fieldSchema(field, parts);
        // The API treats `null` as an absent member.
        return [name, isRequired(field) ? member : { ...member, type: [member['type'], 'null'] }];
      }),
    ),
    required: fields.filter(({ field }) => isRequired(field)).map(({ name }) => name),
  });
  if (body === undefined) throw new Error(`${title} needs an example`);
  return { required: true, content: { 'application/json': { schema, example: body } } };
}

function successResponses(
  { response, rpc }: Operation,
  limited: boolean,
  example: Example,
  parts: Parts,
): JsonSchema {
  const { contentType = 'application/json', description, tagged = false, schema } = response;
  const headers = {
    'X-Request-Id': ref('RequestId'),
    ...(tagged && { ETag: ref('EntityTag'), 'Cache-Control': ref('CacheControl') }),
    ...(limited && { RateLimit: ref('RateLimit'), 'RateLimit-Policy': ref('RateLimitPolicy') }),
  };
  const content = {
    schema: schema ? parts.components.schema(schema) : responseSchema(rpc?.output, response, parts),
    ...(example.response !== undefined && { example: example.response }),
  };
  return {
    200: { description, headers, content: { [contentType]: content } },
    ...(tagged && { 304: { description: 'The representation matches `If-None-Match`.', headers } }),
  };
}

function ref(header: string): JsonSchema {
  return { $ref: `#/components/headers/${header}` };
}
