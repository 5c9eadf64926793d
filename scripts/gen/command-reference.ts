// Writes docs/hubctl.md from the commands of hubctl.
import { writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { createRegistry } from '@bufbuild/protobuf';
import { schemaOf } from '../../cli/command-help.ts';
import { ERROR } from '../../cli/errors/error-document.ts';
import { loadCommands } from '../../cli/load-commands.ts';
import { createProgram } from '../../cli/program.ts';
import { readComments } from '../../gateway/openapi/comments.ts';
import { contractServices } from '../../test/core/access/contract-services.ts';
import { markdown } from './command-markdown.ts';
import { globalOptions, nounPages } from './command-page.ts';
import { jsonObjects } from './json-objects.ts';

const DOCS = new URL('../../docs/', import.meta.url);

const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
const { program } = createProgram(streams, await loadCommands());
const services = await contractServices();
const registry = createRegistry(...services.flatMap(({ file }) => [file, ...file.dependencies]));
const comments = readComments();

/** @param path `hub.license.v1.License.keyHint` */
function commentOf(path: string): string {
  const [, message = '', name = ''] = /^(.*)\.(\w+)$/.exec(path) ?? [];
  const field = registry.getMessage(message)?.fields.find(({ jsonName }) => jsonName === name);
  if (field === undefined) throw new Error(`the contract has no field ${path}`);
  return comments.ofField(field);
}

const nouns = nounPages(program);
const schemas = nouns
  .flatMap(({ commands }) => commands)
  .flatMap(({ prints }) => ('other' in prints ? [] : [schemaOf(prints)]));
const objects = jsonObjects([...schemas, ERROR], commentOf);
writeFileSync(
  new URL('hubctl.md', DOCS),
  markdown({ nouns, globalOptions: globalOptions(program), objects }),
);
