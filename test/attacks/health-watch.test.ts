// A stranger watches the health of the hub on as many streams as there are.
import type { ClientHttp2Session } from 'node:http2';
import { expect } from 'chai';
import { until } from '../support/until.ts';
import { type AttackedHub, startAttackedHub } from './attacked-hub.ts';
import { envelope, type OpenStream, openStream, REFLECTION, WATCH } from './open-stream.ts';

const CONNECTIONS = 10;
const STREAMS = 60;
/** What one address may have open; docs/security.md. */
const MAX_OPEN = 256;
const HEADERS = { 'content-type': 'application/connect+json' };
const REFUSED = /resource_exhausted.*calls without a token open/;

describe('a flood of health watches', () => {
  let attacked: AttackedHub;
  before(async () => {
    attacked = await startAttackedHub();
  });
  after(() => attacked.stop());

  const watchBy = (session: ClientHttp2Session): OpenStream => {
    const watch = openStream(session, WATCH, HEADERS);
    void watch.write(envelope(Buffer.from('{}')));
    watch.finish();
    return watch;
  };
  const isWatching = (watch: OpenStream) => watch.answer().includes('SERVING') && !watch.isOver();

  it('is mostly refused, and its places are free again after it ends', async () => {
    const sessions = await Promise.all(Array.from({ length: CONNECTIONS }, () => attacked.connect()));
    let watches: OpenStream[] = [];
    const damage = await attacked.during(async () => {
      watches = sessions.flatMap((session) => Array.from({ length: STREAMS }, () => watchBy(session)));
      await until(
        () => watches.every((watch) => watch.isOver() || isWatching(watch)),
        'each watch is served or refused',
        20_000,
      );
    });
    const refusals = watches.filter((watch) => watch.isOver());
    expect(watches.length - refusals.length, 'open').to.be.within(1, MAX_OPEN);
    expect(refusals.filter((watch) => REFUSED.test(watch.answer())).length, 'told why').to.be.above(300);
    expect(damage.grownMb, 'megabytes').to.be.below(60);

    const { token } = attacked;
    const described = openStream(await attacked.connect(), REFLECTION, {
      ...HEADERS,
      authorization: `Bearer ${token}`,
    });
    void described.write(envelope(Buffer.from('{"listServices":""}')));
    expect(await described.end(), 'who has a token is served').to.contain('listServicesResponse');

    for (const session of sessions) session.destroy();
    const session = await attacked.connect();
    await until(async () => {
      const watch = watchBy(session);
      await until(() => watch.isOver() || isWatching(watch), 'it is served or refused');
      return isWatching(watch);
    }, 'a new watch is served');
  });
});
