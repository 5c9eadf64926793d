// What the log says of an error that is no Error: the job queue reports copies.
import { expect } from 'chai';
import { createLogger } from '../../../cli/serve/logger.ts';

describe('the log of a copied error', () => {
  const logged = (err: object): { err: Record<string, unknown> } => {
    const lines: string[] = [];
    createLogger('info', { write: (line) => lines.push(line) }).warn({ err }, 'it failed');
    return JSON.parse(lines[0] ?? '');
  };

  it('has its message', () => {
    expect(logged({ message: 'timeout exceeded', queue: 'callback' }).err).to.include({
      message: 'timeout exceeded',
      queue: 'callback',
    });
  });

  it('has the location of an error of the database, and no values', () => {
    const { err } = logged({ message: 'Key (email)=(ada@example.com)', severity: 'ERROR', code: '23505' });
    expect(err).to.include({ sqlState: '23505' });
    expect(JSON.stringify(err)).to.not.contain('ada@example.com');
  });
});
