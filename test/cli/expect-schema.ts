// Checks that JSON matches its documented shape: all required members, and no undocumented ones.
import { PassThrough } from 'node:stream';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { Command } from 'commander';
import { manualOf, schemaOf } from '../../cli/command-help.ts';
import { pathOf } from '../../cli/errors/explain-usage.ts';
import { loadCommands } from '../../cli/load-commands.ts';
import { createProgram } from '../../cli/program.ts';
import type { Schema } from '../../cli/views/schema.ts';

const ajv = new Ajv2020({ allErrors: true, keywords: ['optional', 'field', 'message', 'without'] });

export function expectShape(value: unknown, schema: Schema, of: string): void {
  const isValid = ajv.validate(schema, value);
  expect(isValid, `${of}: ${ajv.errorsText()} in ${JSON.stringify(value)}`).to.equal(true);
}

/** What commands print as JSON, by their words: a document, or documents line by line. */
export const SHAPES: ReadonlyMap<string, { readonly schema: Schema; readonly inLines: boolean }> = new Map(
  leavesOf(
    createProgram(
      { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
      await loadCommands(),
    ).program,
  ).flatMap((leaf) => {
    const prints = manualOf(leaf)?.prints ?? { other: '' };
    if ('other' in prints) return [];
    const entry = { schema: schemaOf(prints), inLines: 'lines' in prints };
    return [[pathOf(leaf).replace('hubctl ', ''), entry] as const];
  }),
);

/** Holds what a command printed to what its manual says. */
export function expectPrinted(command: string, value: unknown): void {
  expectShape(value, SHAPES.get(command)?.schema ?? expect.fail(`there is no ${command}`), command);
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}
