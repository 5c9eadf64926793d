// An admin's decision at one hub applies at another process from the next call on.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { discard, localToken, makeDataDir } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { failureOf } from '../rpc/failure-of.ts';

/** Long enough for two calls on a busy machine. */
const LIFE_MS = 4_000;

describe('a token at two hubs in processes of their own', () => {
  const hubs: HubProcess[] = [];
  let dataDir: string;
  let admin: string;

  before(async () => {
    dataDir = await makeDataDir();
    const databaseUrl = await createMigratedDatabase();
    for (let count = 0; count < 2; count++) {
      hubs.push(await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl }));
    }
    admin = await localToken(dataDir);
  });
  after(async () => {
    for (const hub of hubs) await hub.stop();
    await discard(dataDir);
  });

  const rpcUrl = (index: number) => hubs[index]?.rpcUrl ?? '';
  const tokens = () => createClient(TokenService, transportTo(rpcUrl(0), admin));
  const whoIs = (index: number, token: string) =>
    createClient(AccessService, transportTo(rpcUrl(index), token)).getCaller({});

  it('is refused by both after one of them revoked it', async () => {
    const { token, serviceToken } = await tokens().createToken({ role: Role.VIEWER });
    for (const index of hubs.keys()) expect((await whoIs(index, token)).role).to.equal(Role.VIEWER);
    await tokens().revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
    for (const index of hubs.keys()) {
      expect(await failureOf(whoIs(index, token))).to.have.property('code', Code.Unauthenticated);
    }
  });

  it('is refused by both after it expired', async () => {
    const expiresAt = timestampFromDate(new Date(Date.now() + LIFE_MS));
    const { token } = await tokens().createToken({ role: Role.VIEWER, expiresAt });
    for (const index of hubs.keys()) expect((await whoIs(index, token)).role).to.equal(Role.VIEWER);
    for (const index of hubs.keys()) {
      const isRefused = () =>
        whoIs(index, token).then(
          () => false,
          (error) => error.code === Code.Unauthenticated,
        );
      await until(isRefused, `hub ${index} refuses what has expired`);
    }
  });
});
