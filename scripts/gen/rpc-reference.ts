// Writes docs/reference/rpc.md: every service, RPC, message and enum of the contract, with its comments.
import { writeFileSync } from 'node:fs';
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';
import { accessRule } from '../../core/access/authorize.ts';
import { ROLES } from '../../core/access/entities.ts';
import { readContract } from '../../gateway/openapi/comments.ts';
import { markdownTable } from './markdown-table.ts';

const PAGE = new URL('../../docs/reference/rpc.md', import.meta.url);
/** Packages of other projects, and annotations of the contract. */
const NOT_CALLED = /^(buf|google|grpc)\.|^hub\.validate\./;

const described = [...readContract()].filter(({ typeName }) => !NOT_CALLED.test(typeName));
const byName = <T extends { readonly typeName: string }>(descriptions: T[]): T[] =>
  descriptions.sort((a, b) => a.typeName.localeCompare(b.typeName));

const services = byName(described.filter((each) => each.kind === 'service'));
const ownMessages = new Set(
  services.flatMap(({ methods }) =>
    methods.flatMap(({ input, output }) => [input.typeName, output.typeName]),
  ),
);
const messages = byName(
  described.filter((each) => each.kind === 'message').filter(({ typeName }) => !ownMessages.has(typeName)),
);
const enums = byName(described.filter((each) => each.kind === 'enum'));

writeFileSync(
  PAGE,
  `${[
    '<!-- written by npm run gen -->',
    '# RPC reference',
    'This page lists every call of the internal port, from the comments of the [contract](../../proto/README.md). See also [calling by RPC](../rpc.md), [errors](errors.md) and [access](../access.md). In JSON, field names are in lowerCamelCase, 64-bit integers are strings, and times are RFC 3339.',
    contents(),
    ...services.map(ofService),
    '## Messages',
    ...messages.map(ofMessage),
    '## Enums',
    ...enums.map(ofEnum),
  ].join('\n\n')}\n`,
);

function contents(): string {
  const rows = services.map((service) => [
    link(service.name, service.name),
    service.methods.map((method) => link(method.name, titleOf(method))).join(', '),
  ]);
  return markdownTable(['service', 'RPCs'], rows);
}

function ofService(service: DescService): string {
  const intro = [`## ${service.name}`, `\`${service.typeName}\``, commentOf(service)];
  return [...intro, ...service.methods.map(ofMethod)].join('\n\n');
}

function ofMethod(method: DescMethod): string {
  const streams = method.methodKind === 'server_streaming' ? ', a stream' : '';
  return [
    `### ${titleOf(method)}`,
    commentOf(method),
    `Called by: ${callersOf(method)}.`,
    ofFields('request', method.input),
    ofFields(`response${streams}`, method.output),
  ].join('\n\n');
}

function titleOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`;
}

function callersOf(method: DescMethod): string {
  const { public: isPublic, roles } = accessRule(method);
  if (isPublic) return 'anyone';
  return ROLES.filter((role) => roles.has(role)).join(', ');
}

function ofMessage(message: DescMessage): string {
  return [`### ${message.name}`, `\`${message.typeName}\``, commentOf(message), ofFields('field', message)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function ofFields(title: string, { fields }: DescMessage): string {
  if (fields.length === 0) return `${title[0]?.toUpperCase()}${title.slice(1)}: no fields.`;
  return markdownTable(
    [title, 'type', ''],
    fields.map((field) => [`\`${field.name}\``, typeOf(field), inline(commentOf(field))]),
  );
}

function ofEnum(description: DescEnum): string {
  const rows = description.values.map((value) => [`\`${value.name}\``, inline(commentOf(value))]);
  const intro = [`### ${description.name}`, `\`${description.typeName}\``, commentOf(description)];
  return [...intro, markdownTable(['value', ''], rows)].join('\n\n');
}

function typeOf(field: DescField): string {
  const label = field.proto.proto3Optional ? 'optional ' : '';
  switch (field.fieldKind) {
    case 'scalar':
      return `${label}${scalarName(field.scalar)}`;
    case 'enum':
      return `${label}${typeLink(field.enum)}`;
    case 'message':
      return typeLink(field.message);
    case 'list':
      return `list of ${elementType(field)}`;
    case 'map':
      return `map from ${scalarName(field.mapKey)} to ${elementType(field)}`;
  }
}

/** The type of the values of a list or a map. */
function elementType(field: DescField): string {
  const type = field.enum ?? field.message;
  return type === undefined ? scalarName(field.scalar ?? ScalarType.STRING) : typeLink(type);
}

function scalarName(scalar: ScalarType): string {
  return ScalarType[scalar].toLowerCase();
}

function typeLink({ typeName, name }: DescMessage | DescEnum): string {
  return NOT_CALLED.test(typeName) ? `\`${typeName}\`` : link(name, name);
}

function link(text: string, heading: string): string {
  return `[${text}](#${heading.toLowerCase().replaceAll('.', '')})`;
}

function commentOf(
  description: DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnum['values'][number],
): string {
  return escaped((getComments(description).leading ?? '').replace(/^ /gm, '').trim());
}

function inline(comment: string): string {
  return comment.replace(/\s+/g, ' ');
}

/** Escapes angle brackets outside of code, which Markdown reads as HTML. */
function escaped(comment: string): string {
  return comment
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;')))
    .join('');
}
