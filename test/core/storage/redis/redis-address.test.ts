import { expect } from 'chai';
import { describeRedis, parseRedisAddress } from '../../../../core/storage/redis/redis-address.ts';

describe('a Redis address', () => {
  it('parses one server, with default port 6379 and database 0', () => {
    expect(parseRedisAddress('redis://cache')).to.deep.equal({
      nodes: [{ host: 'cache', port: 6379 }],
      database: 0,
      tls: false,
    });
    expect(parseRedisAddress('rediss://app:p%40ss%2F@[fd00::1]:6380/3')).to.deep.equal({
      nodes: [{ host: 'fd00::1', port: 6380 }],
      username: 'app',
      password: 'p@ss/',
      database: 3,
      tls: true,
    });
  });

  it('parses the nodes of a cluster', () => {
    const { nodes } = parseRedisAddress('redis://:secret@a:7000,b,c:7002');
    expect(nodes).to.deep.equal([
      { host: 'a', port: 7000 },
      { host: 'b', port: 6379 },
      { host: 'c', port: 7002 },
    ]);
  });

  it('parses Sentinels and the name of their primary', () => {
    const address = parseRedisAddress(
      'rediss-sentinel://app:pass@a,b:26380/main/2?sentinelUsername=watch&sentinelPassword=s%26t',
    );
    expect(address).to.deep.equal({
      nodes: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      username: 'app',
      password: 'pass',
      database: 2,
      tls: true,
      sentinel: { name: 'main', username: 'watch', password: 's&t' },
    });
    expect(describeRedis(address)).to.equal('main (Sentinels a:26379,b:26380)');
  });

  const wrong: readonly (readonly [string, RegExp])[] = [
    ['http://cache', /must start with redis:\/\//],
    ['redis://secret@', /host or host:port/],
    ['redis://a:secret', /host or host:port/],
    ['redis://a,,b', /host or host:port/],
    ['redis://cache/secret', /database must be a number/],
    ['redis://cache/1/2', /database must be a number/],
    ['redis://:100%secret@cache', /%25/],
    ['redis-sentinel://a,b', /must name the primary/],
    ['redis-sentinel://a/main/secret', /database must be a number/],
  ];
  for (const [text, message] of wrong) {
    it(`refuses ${text} without printing it`, () => {
      expect(() => parseRedisAddress(text))
        .to.throw(message)
        .with.property('message')
        .that.does.not.contain('secret');
    });
  }
});
