// The readiness check of a separate gateway: whether a core accepts its token or its client certificate.
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { shareRead } from '../../lib/net/share-read.ts';
import { gatewayRoleProblem } from './core-transport.ts';
import type { Settings } from './setting-table.ts';

const TIMEOUT_MS = 2_000;
/** Each refusal counts as a wrong token, and a core allows an address 30 of them a minute by default. */
const MAX_AGE_MS = 5_000;
const CREATE_TOKEN = 'create a token at the core: hubctl token create --role gateway';
const TOKEN = {
  proof: 'HUB_CORE_TOKEN',
  remedy: `${CREATE_TOKEN} --name gateway; write it to the file of HUB_CORE_TOKEN_FILE, or restart the gateway with it`,
};
const CERTIFICATE = {
  proof: 'HUB_CORE_CLIENT_CERT',
  remedy: `${CREATE_TOKEN} --certificate-subject SUBJECT; or restart the gateway with a certificate that has one`,
};

/**
 * Creates the check. It rejects while a core refuses the gateway, or cannot say. Logs when a core begins to refuse it,
 * and when it accepts it again.
 */
export function createCoreAccessCheck(
  { coreUrl, coreToken }: Pick<Settings, 'coreUrl' | 'coreToken'>,
  transport: Transport,
  logger: Logger,
): () => Promise<void> {
  const access = createClient(AccessService, transport);
  const { proof, remedy } = coreToken === undefined ? CERTIFICATE : TOKEN;
  let isRefused = false;
  const findProblem = async (): Promise<string | undefined> => {
    try {
      const caller = await access.getCaller({}, { timeoutMs: TIMEOUT_MS });
      return gatewayRoleProblem(caller, coreToken !== undefined)?.problem;
    } catch (error) {
      if (isRefusal(ConnectError.from(error))) return 'the core does not accept it';
      throw error;
    }
  };
  return shareRead(async () => {
    const problem = await findProblem();
    if (problem !== undefined) {
      if (!isRefused) logger.error({ coreUrl }, `not ready: ${proof}: ${problem}: ${remedy}`);
      isRefused = true;
      throw new Error(`${proof}: ${problem}`);
    }
    if (isRefused) logger.info({ coreUrl }, `ready again: the core accepts ${proof}`);
    isRefused = false;
  }, MAX_AGE_MS);
}

/** After too many wrong tokens a core refuses unknown ones unread, without a code. An overloaded core sends a code. */
function isRefusal(error: ConnectError): boolean {
  if (error.code === Code.ResourceExhausted) return error.findDetails(ErrorDetailSchema).length === 0;
  return error.code === Code.Unauthenticated;
}
