// Objects of a statement do not outlive it: each one that a minor collection copies delays requests.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createDatabase } from '../../../support/postgres/databases.ts';

const run = promisify(execFile);

describe('the objects of a statement', () => {
  it('are collected young', async () => {
    const program = join(import.meta.dirname, 'count-promoted.ts');
    const args = ['--max-semi-space-size=1', program, await createDatabase()];
    const { stdout } = await run(process.execPath, args);
    // With the driver's own time-out: 1 700 bytes of each statement.
    expect(Number(stdout)).to.be.below(500);
  });
});
