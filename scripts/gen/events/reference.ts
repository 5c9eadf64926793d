// Writes docs/reference/events.md, and the JSON Schema of each type of event. `npm run gen` runs it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatPayload } from '../../../core/event/delivery/payload.ts';
import { kindOf } from '../../../core/event/types.ts';
import { readComments } from '../../../gateway/openapi/comments.ts';
import { EVENT_TYPES, type EventType } from '../../../lib/presentation/event-types.ts';
import { markdownTable } from '../markdown-table.ts';
import { EXAMPLE_TIME, EXAMPLES } from './examples.ts';
import { eventSchema, OBJECT_MESSAGES, schemaPath } from './schema.ts';

const PAGE = new URL('../../../docs/reference/events.md', import.meta.url);
const SCHEMAS = new URL('../../../docs/reference/events/', import.meta.url);
const FIRST_NUMBER = 4_711;

const INTRO = `This page lists the types of events, each with an example of the body that endpoints receive. [Events](../events.md)
explains delivery, signatures and retries.

- \`type\` is the type, and \`timestamp\` the time of the change (RFC 3339).
- \`sequence\` is the number of the event. A later event of an object has a larger number.
- \`data\` is the object, as the administration RPCs show it: the table links its fields. Names are in lowerCamelCase, 64-bit integers are
  strings, and unset times and optional members are absent. \`data\` is \`null\` if the object no longer exists.

Each type has a JSON Schema (draft 2020-12). The schemas describe this version: a later hub may add members and values of enums. Ignore
what you do not know.`;

const ABOUT_KEYS =
  'An endpoint with `include_keys` also gets `data.licenseKey`, unless the hub cannot derive the key.';

const types = Object.keys(EVENT_TYPES) as EventType[]; // the keys of a constant
const comments = readComments();

rmSync(SCHEMAS, { recursive: true, force: true });
for (const type of types) {
  const file = new URL(schemaPath(type), SCHEMAS);
  mkdirSync(dirname(fileURLToPath(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(eventSchema(type, comments), null, 2)}\n`);
}
const parts = [
  '<!-- written by npm run gen -->',
  '# Types of events',
  INTRO,
  contents(),
  ...types.map(sectionOf),
];
writeFileSync(PAGE, `${parts.join('\n\n')}\n`);

function contents(): string {
  const rows = types.map((type) => [
    `[\`${type}\`](#${type.replace('.', '')})`,
    EVENT_TYPES[type],
    objectLink(type),
    `[schema](events/${schemaPath(type)})`,
  ]);
  return markdownTable(['type', '', 'object', 'JSON Schema'], rows);
}

function sectionOf(type: EventType, index: number): string {
  const body = formatPayload({
    type,
    at: EXAMPLE_TIME,
    number: type === 'endpoint.test' ? 0 : FIRST_NUMBER + index,
    data: EXAMPLES[type],
  });
  const example = JSON.stringify(JSON.parse(body), null, 2);
  return [
    `## ${type}`,
    `${EVENT_TYPES[type]}${type === 'license.issued' ? ` ${ABOUT_KEYS}` : ''}`,
    `Object: ${objectLink(type)}. Schema: [${type}](events/${schemaPath(type)}).`,
    `\`\`\`json\n${example}\n\`\`\``,
  ].join('\n\n');
}

function objectLink(type: EventType): string {
  const { name } = OBJECT_MESSAGES[kindOf(type)];
  return `[${name}](rpc.md#${name.toLowerCase()})`;
}
