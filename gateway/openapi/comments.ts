// Reads the comments of the contract, which the generated code does not contain.
import { execFileSync } from 'node:child_process';
import {
  createFileRegistry,
  type DescField,
  type DescMethod,
  type FileRegistry,
  fromBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { getComments } from '@bufbuild/protoplugin';

export type Comments = ReturnType<typeof readComments>;

/** The contract with its comments, from `buf`, which must be in PATH (`npm run` sets it). */
export function readContract(): FileRegistry {
  const image = execFileSync('buf', ['build', 'proto', '-o', '-']);
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
}

export function readComments() {
  const registry = readContract();
  return {
    /** Returns the comment of an RPC without its list of errors: REST documents errors as problems. */
    ofMethod({ parent, name }: DescMethod): string {
      const method = registry.getService(parent.typeName)?.methods.find((each) => each.name === name);
      if (method === undefined) return '';
      const all = paragraphs(getComments(method).leading);
      return all.filter((paragraph) => !paragraph.startsWith('Errors')).join('\n\n');
    },
    ofField({ parent, name }: DescField): string {
      const field = registry.getMessage(parent.typeName)?.fields.find((each) => each.name === name);
      return field === undefined ? '' : paragraphs(getComments(field).leading).join('\n\n');
    },
  };
}

function paragraphs(comment = ''): string[] {
  return comment
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim());
}
