// The hand-written part of protovalidate's schema matches the complete one.
import { createFileRegistry, type DescExtension, type DescField, type DescFile } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { file_buf_validate_validate as complete } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { expect } from 'chai';
import { buildImage } from './build-image.ts';

describe('proto/buf/validate/validate.proto', () => {
  let subset: DescFile;

  before(async () => {
    const file = createFileRegistry(await buildImage()).getFile('buf/validate/validate.proto');
    if (file === undefined) throw new Error('buf/validate/validate.proto is not part of the contract');
    subset = file;
  });

  it('has the package and the syntax of the complete file', () => {
    expect([subset.proto.package, subset.proto.syntax]).to.deep.equal([
      complete.proto.package,
      complete.proto.syntax,
    ]);
  });

  it('has generated code where the complete file has it', () => {
    const names = ['goPackage', 'javaPackage', 'javaOuterClassname', 'javaMultipleFiles'] as const;
    const [ours, theirs] = [subset, complete].map(({ proto }) => names.map((name) => proto.options?.[name]));
    expect(ours).to.deep.equal(theirs);
  });

  it('spells all its fields, extensions and enum values like the complete file', () => {
    const known = describeAll(complete);
    const used = describeAll(subset);
    expect([...used.keys()]).to.include.members(['buf.validate.field', 'buf.validate.StringRules.max_len']);
    for (const [name, description] of used) expect(description, name).to.deep.equal(known.get(name));
  });

  it('allows extensions only where the complete file does', () => {
    const known = extensionRanges(complete);
    for (const [name, ranges] of extensionRanges(subset)) {
      for (const { start, end } of ranges) {
        const open = known.get(name)?.some((range) => range.start <= start && end <= range.end);
        expect(open, `extensions ${start} to ${end - 1} of ${name}`).to.equal(true);
      }
    }
  });
});

/** Everything with a number in a file, by its full name. */
function describeAll(file: DescFile): Map<string, object> {
  const all = new Map<string, object>();
  for (const type of nestedTypes(file)) {
    if (type.kind === 'extension') all.set(type.typeName, describeField(type));
    if (type.kind === 'message')
      for (const field of type.fields) all.set(`${type.typeName}.${field.name}`, describeField(field));
    if (type.kind === 'enum')
      for (const { name, number } of type.values) all.set(`${type.typeName}.${name}`, { number });
  }
  return all;
}

function describeField(field: DescField | DescExtension): object {
  const { number, type, typeName, label, defaultValue, jsonName } = field.proto;
  return {
    number,
    type,
    typeName,
    label,
    defaultValue,
    jsonName,
    oneof: field.oneof?.name,
    extendee: field.kind === 'extension' ? field.extendee.typeName : undefined,
  };
}

function extensionRanges(file: DescFile): Map<string, { start: number; end: number }[]> {
  const messages = [...nestedTypes(file)].filter((type) => type.kind === 'message');
  return new Map(
    messages.map(({ typeName, proto }) => [
      typeName,
      proto.extensionRange.map(({ start, end }) => ({ start, end })),
    ]),
  );
}
