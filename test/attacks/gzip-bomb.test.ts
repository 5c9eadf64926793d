// Small requests that unpack to large ones, from a token of the lowest role.
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type AttackedHub, startAttackedHub } from './attacked-hub.ts';
import { envelope, openStream, REFLECTION } from './open-stream.ts';

const MEGABYTE = 1_000_000;
const COMPRESSED = 1;
const GET_CALLER = 'hub.access.v1.AccessService/GetCaller';
const UNPACKED = Buffer.from(JSON.stringify({ listServices: 'x'.repeat(MEGABYTE) }));
/** About a kilobyte. */
const BOMB = gzipSync(UNPACKED);
const BOMBS = 300;

describe('a decompression bomb', () => {
  let attacked: AttackedHub;
  before(async () => {
    attacked = await startAttackedHub();
  });
  after(() => attacked.stop());
  const authorization = () => `Bearer ${attacked.token}`;

  it('of many messages is refused at the first, and delays nobody', async () => {
    const { isOver, write, end } = openStream(await attacked.connect(), REFLECTION, {
      'content-type': 'application/connect+json',
      'connect-content-encoding': 'gzip',
      authorization: authorization(),
    });
    let answer = '';
    const damage = await attacked.during(async () => {
      for (let sent = 0; sent < BOMBS && !isOver(); sent += 1) await write(envelope(BOMB, COMPRESSED));
      answer = await end();
    });
    expect(answer).to.contain('resource_exhausted').and.to.contain('more than 100 times its size');
    expect(damage.longestWaitMs, 'milliseconds').to.be.below(1_000);
    expect(damage.grownMb, 'megabytes').to.be.below(100);
  });

  it('of many messages within the ratio is refused by its decompressed size', async () => {
    const noise = Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 65_521).join();
    const text = JSON.stringify({ listServices: noise + 'x'.repeat(MEGABYTE - noise.length) });
    const packed = gzipSync(text);
    expect(text.length / packed.length).to.be.below(100);
    const { isOver, write, end } = openStream(await attacked.connect(), REFLECTION, {
      'content-type': 'application/grpc+json',
      'grpc-encoding': 'gzip',
      authorization: authorization(),
    });
    let answer = '';
    const damage = await attacked.during(async () => {
      for (let sent = 0; sent < 30 && !isOver(); sent += 1) await write(envelope(packed, COMPRESSED));
      answer = await end();
    });
    expect(answer).to.contain('grpc-status 8').and.to.contain('bytes, decompressed');
    expect(damage.longestWaitMs, 'milliseconds').to.be.below(1_000);
  });

  it('in one call is refused by each protocol and compression', async () => {
    const refusals = await Promise.all(
      [
        { 'content-type': 'application/json', 'content-encoding': 'gzip', body: BOMB },
        { 'content-type': 'application/proto', 'content-encoding': 'br', body: brotliCompressSync(UNPACKED) },
        {
          'content-type': 'application/grpc-web+proto',
          'grpc-encoding': 'gzip',
          body: envelope(BOMB, COMPRESSED),
        },
      ].map(async ({ body, ...headers }) => {
        const answer = await fetch(`${attacked.hub.rpcUrl}/${GET_CALLER}`, {
          method: 'POST',
          headers: { ...headers, authorization: authorization() },
          body: new Uint8Array(body),
        });
        const text = `${await answer.text()} ${decodeURIComponent(answer.headers.get('grpc-message') ?? '')}`;
        return decodeURIComponent(text);
      }),
    );
    for (const refusal of refusals) expect(refusal).to.contain('more than 100 times its size');
  });
});
