// Builds the OpenAPI Operation Object of one provider's callback from its driver.
import { type DescField, getOption } from '@bufbuild/protobuf';
import { field as fieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import {
  CallbackMalformed,
  type PaymentDriver,
  type SignedCallbacks,
} from '../../core/payment/providers/driver.ts';
import { MAX_READ_CHARACTERS, parseClaim } from '../../core/payment/providers/registry.ts';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import type { CallbackOperation, JsonSchema } from '../routes/openapi-operation.ts';
import type { Example } from './examples.ts';
import { fieldSchema, type Parts, textKeywords } from './message-schema.ts';
import { OF_ANY_BODY, problemResponses } from './problem-responses.ts';

export function callbackId({ gateway }: PaymentDriver): string {
  return `${gateway.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())}Callback`;
}

export function callbackObject(
  driver: PaymentDriver,
  about: CallbackOperation,
  example: Example | undefined,
  parts: Parts,
): JsonSchema {
  const { gateway, callback } = driver;
  const { method, acknowledgement, signed } = callback;
  return {
    operationId: callbackId(driver),
    tags: [about.tag],
    summary: `Receive a callback of ${gateway}`,
    description: `${parts.comments.ofMethod(about.rpc)}\n\n${signed ? JOURNALED_IDS : JOURNALED_FIELDS}`,
    ...(signed ? signedRequest(signed, example) : fieldsRequest(driver, example, parts)),
    responses: {
      200: {
        description: 'The acknowledgement for the provider. It does not depend on the outcome.',
        headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
        content: { [acknowledgement.contentType]: { schema: schemaOf(acknowledgement) } },
      },
      ...problemResponses([...about.problems, ...(method === 'POST' ? OF_ANY_BODY : [])], parts),
    },
  };
}

const JOURNALED_FIELDS = 'Other fields are stored in the journal.';
const JOURNALED_IDS = 'The journal stores ids and types of the body, and nothing else.';

function fieldsRequest(driver: PaymentDriver, example: Example | undefined, parts: Parts): JsonSchema {
  const { method, reads } = driver.callback;
  const { sessionId, fields } = CallbackService.method.receiveCallback.input.field;
  const { description, ...sessionSchema } = fieldSchema(sessionId, parts);
  const unread = unreadText(fields);
  const read = { ...unread, maxLength: MAX_READ_CHARACTERS };
  const parameter = (name: string, required: boolean, schema: JsonSchema): JsonSchema => {
    const value = example?.parameters?.[name];
    return { name, in: 'query', required, schema, ...(value !== undefined && { example: value }) };
  };
  return {
    parameters: [
      { ...parameter('session_id', false, sessionSchema), description },
      ...(method === 'GET' ? reads.map((name) => parameter(name, isRequired(driver, name), read)) : []),
    ],
    ...(method === 'POST' && {
      requestBody: {
        required: true,
        content: {
          'application/x-www-form-urlencoded': {
            schema: {
              type: 'object',
              properties: Object.fromEntries(reads.map((name) => [name, read])),
              required: reads.filter((name) => isRequired(driver, name)),
              additionalProperties: unread,
            },
            ...(example?.body && { example: example.body }),
          },
        },
      },
    }),
  };
}

/** The body is the provider's: its signature covers the bytes. */
function signedRequest({ headers }: SignedCallbacks, example: Example | undefined): JsonSchema {
  return {
    parameters: headers.map((name) => ({
      name,
      in: 'header',
      required: true,
      description: 'Signature of the body.',
      schema: { type: 'string' },
      ...(example?.parameters?.[name] !== undefined && { example: example.parameters[name] }),
    })),
    requestBody: {
      required: true,
      description: 'An event of the provider, at most 256 KiB.',
      content: {
        'application/json': { schema: { type: 'object' }, ...(example?.body && { example: example.body }) },
      },
    },
  };
}

/** Whether the driver rejects every callback without this field. */
function isRequired(driver: PaymentDriver, name: string): boolean {
  const others = driver.callback.reads.filter((each) => each !== name);
  try {
    parseClaim(driver, Object.fromEntries(others.map((each) => [each, 'x'])));
    return false;
  } catch (error) {
    if (error instanceof CallbackMalformed && error.field === name) return true;
    throw error;
  }
}

/** The contract's rules for any field of a callback. */
function unreadText(fields: DescField): JsonSchema {
  const { type } = getOption(fields, fieldRules);
  const values = type.case === 'map' ? type.value.values?.type : undefined;
  return { type: 'string', ...(values?.case === 'string' && textKeywords(values.value)) };
}

/** A schema that accepts only this value. */
function schemaOf({ body, contentType }: PaymentDriver['callback']['acknowledgement']): JsonSchema {
  return contentType === 'application/json'
    ? { type: 'object', const: JSON.parse(body) }
    : { type: 'string', const: body };
}
