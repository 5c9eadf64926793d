// Secrets by type: whatever a careless line does with them, nothing shows.
import { format, inspect } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../cli/serve/logger.ts';
import { readSettings } from '../../cli/serve/settings.ts';
import { Secret } from '../../core/secret.ts';
import { createCanaries } from '../support/hub/canaries.ts';

describe('a secret', () => {
  it('is revealed only by reveal', () => {
    const { make, found } = createCanaries();
    const value = make();
    const secret = new Secret(value);
    const shown = [
      `${secret}`,
      String(secret),
      JSON.stringify({ secret, list: [secret] }),
      inspect(secret, { showHidden: true, depth: null }),
      inspect({ nested: { secret } }, { depth: null }),
      format('%s %o %O %j', secret, secret, secret, secret),
      Object.values(secret).join(),
      JSON.stringify(structuredClone({ ...secret })),
      String(new Error(`failed with ${secret}`, { cause: secret }).cause),
    ].join('\n');
    expect(found(shown)).to.deep.equal([]);
    expect(shown).to.contain('[secret]');
    expect(secret.reveal()).to.equal(value);
  });

  it('stays hidden in a log of all settings, in an object, a text and an error', () => {
    const { make, found } = createCanaries();
    const settings = readSettings(
      {},
      {
        DATABASE_URL: `postgres://hub:${make()}@db/hub`,
        REDIS_URL: `redis://:${make()}@cache`,
        HUB_MASTER_KEY: Buffer.from(make().padEnd(32, 'x')).toString('base64'),
        HUB_CORE_TOKEN: make(),
      },
    );
    const lines: string[] = [];
    const logger = createLogger('trace', { write: (line) => lines.push(line) });
    logger.info(settings, 'starting');
    logger.info({ settings }, `with ${inspect(settings)}`);
    logger.error({ err: Object.assign(new Error(`with ${settings.databaseUrl}`), { settings }) }, 'failed');
    const log = lines.join('');
    expect(found(log)).to.deep.equal([]);
    expect(log.split('[secret]').length).to.be.greaterThan(12);
  });
});
