// Whoever reads the contract finds a comment on everything that does not explain itself.
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FieldDescriptorProto_Type as FieldType,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { HUB_ERRORS } from '../../../core/errors.ts';
import { buildImage } from './build-image.ts';

// Field numbers of descriptor.proto, which make up the paths of its SourceCodeInfo.
const FILE = { messages: 4, enums: 5, services: 6, extensions: 7 } as const;
const MESSAGE = { fields: 2, messages: 3, enums: 4, extensions: 6 } as const;
const ENUM_VALUES = 2;
const METHODS = 2;

describe('comments in proto/hub', () => {
  let files: FileDescriptorProto[];

  before(async () => {
    files = (await buildImage()).file.filter(({ name }) => name.startsWith('hub/'));
  });

  it('exist for every service, RPC, message, field, extension, enum and value', () => {
    expect(files.map(({ name }) => name)).to.include('hub/license/v1/license_service.proto');
    expect(files.flatMap(uncommented)).to.deep.equal([]);
  });

  it('name only existing error codes', () => {
    const named = files.flatMap(commentedMethods).flatMap(({ name, comment }) => {
      const errors = comment.slice(comment.search(/Errors\b/)).match(/\b[a-z]+(_[a-z]+)+\b/g) ?? [];
      return errors.map((code) => ({ name, code }));
    });
    expect(named).to.deep.include({ name: 'LicenseService.Activate', code: 'seat_limit_reached' });
    for (const { name, code } of named) expect(HUB_ERRORS, name).to.have.property(code);
  });
});

type Element = { readonly name: string; readonly path: readonly number[] };

function uncommented(file: FileDescriptorProto): string[] {
  const comments = leadingComments(file);
  return elements(file)
    .filter(({ path }) => !comments.has(path.join()))
    .map(({ name }) => `${file.name}: ${name}`);
}

function commentedMethods(file: FileDescriptorProto): { name: string; comment: string }[] {
  const comments = leadingComments(file);
  return methods(file).map(({ name, path }) => ({ name, comment: comments.get(path.join()) ?? '' }));
}

/** The comment in front of an element, by the element's path. */
function leadingComments(file: FileDescriptorProto): Map<string, string> {
  const locations = file.sourceCodeInfo?.location ?? [];
  const commented = locations.filter(({ leadingComments }) => leadingComments.trim() !== '');
  return new Map(commented.map(({ path, leadingComments }) => [path.join(), leadingComments]));
}

function elements(file: FileDescriptorProto): Element[] {
  return [
    ...file.messageType.flatMap((message, index) => ofMessage(message, [FILE.messages, index])),
    ...file.enumType.flatMap((each, index) => ofEnum(each, [FILE.enums, index])),
    ...file.service.map(({ name }, index) => ({ name, path: [FILE.services, index] })),
    ...methods(file),
    ...file.extension.map(({ name }, index) => ({ name, path: [FILE.extensions, index] })),
  ];
}

function methods(file: FileDescriptorProto): Element[] {
  return file.service.flatMap(({ name: service, method }, index) =>
    method.map(({ name }, at) => ({ name: `${service}.${name}`, path: [FILE.services, index, METHODS, at] })),
  );
}

/** A request or response needs no comment of its own: its RPC has one. */
function ofMessage(
  { name, field, nestedType, enumType, extension, options }: DescriptorProto,
  path: number[],
): Element[] {
  if (options?.mapEntry) return [];
  const isWrapper = /(Request|Response)$/.test(name);
  return [
    ...(isWrapper ? [] : [{ name, path }]),
    ...field
      .map((each, index) => ({ ...each, path: [...path, MESSAGE.fields, index] }))
      .filter((each) => !explainsItself(each))
      .map((each) => ({ name: `${name}.${each.name}`, path: each.path })),
    ...nestedType.flatMap((each, index) => ofMessage(each, [...path, MESSAGE.messages, index])),
    ...enumType.flatMap((each, index) => ofEnum(each, [...path, MESSAGE.enums, index])),
    ...extension.map((each, index) => ({ name: each.name, path: [...path, MESSAGE.extensions, index] })),
  ];
}

/** A field named after its type is explained by the type; page tokens are explained by the service. */
function explainsItself({
  name,
  type,
  typeName,
}: {
  name: string;
  type: FieldType;
  typeName: string;
}): boolean {
  if (name === 'next_page_token') return true;
  return type === FieldType.MESSAGE && typeName.startsWith('.hub.') && isNamedAfter(name, typeName);
}

function isNamedAfter(name: string, typeName: string): boolean {
  const words = (typeName.split('.').at(-1) ?? '').replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
  return (
    words === name || `${words}s` === name || words.endsWith(`_${name}`) || `${words}s`.endsWith(`_${name}`)
  );
}

/** The value 0 that stands for nothing said needs no comment. */
function ofEnum({ name, value }: EnumDescriptorProto, path: number[]): Element[] {
  const values = value
    .map((each, index) => ({ ...each, path: [...path, ENUM_VALUES, index] }))
    .filter((each) => !(each.number === 0 && each.name.endsWith('_UNSPECIFIED')));
  return [{ name, path }, ...values.map((each) => ({ name: each.name, path: each.path }))];
}
