// The contract as buf compiles it from proto/, with comments.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MAX_IMAGE_BYTES = 16 * 1024 * 1024;

let built: Promise<FileDescriptorSet> | undefined;

/** Built once for all tests that ask. Rejects with what buf says. */
export function buildImage(): Promise<FileDescriptorSet> {
  built ??= build();
  return built;
}

async function build(): Promise<FileDescriptorSet> {
  const { stdout } = await promisify(execFile)(
    `${ROOT}node_modules/.bin/buf`,
    ['build', 'proto', '--as-file-descriptor-set', '-o', '-#format=binpb'],
    { cwd: ROOT, encoding: 'buffer', maxBuffer: MAX_IMAGE_BYTES },
  );
  return fromBinary(FileDescriptorSetSchema, stdout);
}
