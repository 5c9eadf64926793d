// Builds the OpenAPI responses for problems, grouped by status, and their schema.

import { SeatUsageSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode, type ProblemMembers } from '../problem.ts';
import type { JsonSchema } from '../routes/openapi-operation.ts';
import { type Parts, responseSchema } from './message-schema.ts';
import { problemExample } from './problem-examples.ts';

/** Problems of any request, found before it is routed. */
export const OF_ANY_REQUEST: readonly ProblemCode[] = [
  'invalid_request',
  'request_timeout',
  'rate_limited',
  'headers_too_large',
  'internal',
];
/** Additional problems of a request with a body. */
export const OF_ANY_BODY: readonly ProblemCode[] = [
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
];

export function problemResponses(codes: readonly ProblemCode[], parts: Parts): JsonSchema {
  const statuses = Map.groupBy(
    ALL_CODES.filter((code) => codes.includes(code)),
    (code) => PROBLEMS[code].status,
  );
  const own = [...statuses].map(([status, some]) => [
    status,
    parts.components.response(some.map(pascalCase).join('Or'), {
      description: descriptionOf(some),
      headers: {
        'X-Request-Id': { $ref: '#/components/headers/RequestId' },
        ...(RETRIED.has(status) && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
      },
      content: contentOf(some, status, parts),
    }),
  ]);
  const anyRequest = parts.components.response('AnyRequest', {
    description: `Errors of any request:\n\n${descriptionOf(OF_ANY_REQUEST)}`,
    headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
    content: contentOf(OF_ANY_REQUEST, undefined, parts),
  });
  return { ...Object.fromEntries(own), default: anyRequest };
}

const ALL_CODES = Object.keys(PROBLEMS) as ProblemCode[]; // the keys are the codes
const RETRIED: ReadonlySet<number> = new Set([PROBLEMS.rate_limited.status, PROBLEMS.unavailable.status]);
const NEEDED: { readonly [code in ProblemCode]?: keyof ProblemMembers } = { seat_limit_reached: 'seats' };

function contentOf(codes: readonly ProblemCode[], status: number | undefined, parts: Parts): JsonSchema {
  const required = codes.flatMap((code) => NEEDED[code] ?? []);
  const narrowed = {
    properties: { ...(status !== undefined && { status: { const: status } }), code: { enum: codes } },
    ...(required.length > 0 && { required }),
  };
  const examples = codes.map((code) => [
    code,
    { summary: PROBLEMS[code].title, value: problemExample(code) },
  ]);
  return {
    [PROBLEM_TYPE]: {
      schema: { allOf: [problemSchema(parts), narrowed] },
      examples: Object.fromEntries(examples),
    },
  };
}

function descriptionOf(codes: readonly ProblemCode[]): string {
  const lines = codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`);
  return lines.length === 1 ? lines.join('') : lines.map((line) => `- ${line}`).join('\n');
}

function problemSchema(parts: Parts): JsonSchema {
  return parts.components.schema({
    title: 'Problem',
    type: 'object',
    description: 'A problem document (RFC 9457).',
    properties: {
      type: {
        type: 'string',
        format: 'uri',
        description: 'Identifies the kind of problem: `urn:hub:problem:` and the code.',
      },
      title: {
        type: 'string',
        description: 'Short description of the kind of problem. A code always has the same title.',
      },
      status: { type: 'integer', description: 'The HTTP status.' },
      detail: { type: 'string', description: 'Describes the error in this request and how to correct it.' },
      instance: { type: 'string', format: 'uri', description: 'The request id, as `urn:uuid:`.' },
      ok: { type: 'boolean', const: false },
      code: {
        type: 'string',
        enum: ALL_CODES,
        description: 'Error code for programs. Codes are never renamed or reused; new codes may be added.',
      },
      seats: responseSchema(SeatUsageSchema, {}, parts),
      errors: {
        type: 'array',
        description: 'With `invalid_request` and `callback_malformed`: the fields that caused the error.',
        items: {
          type: 'object',
          properties: {
            field: { type: 'string' },
            detail: { type: 'string', description: 'How to correct the field.' },
          },
          required: ['field', 'detail'],
        },
      },
    },
    required: ['type', 'title', 'status', 'detail', 'instance', 'ok', 'code'],
  });
}

function pascalCase(code: ProblemCode): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
