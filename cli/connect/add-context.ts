// Creates a context from the global options and a token that is entered without echo.
import { resolve } from 'node:path';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors/failure.ts';
import { canPrompt } from '../parse/confirm.ts';
import { omitUndefined } from '../parse/omit-undefined.ts';
import { promptSecrets } from '../parse/secret-prompt.ts';
import { baseUrl, checkToken, checkTrust } from './check-target.ts';
import type { StoredContext } from './stored-contexts.ts';
import { readTokenFile } from './token-file.ts';

/**
 * Ignores the environment, which may belong to another hub.
 * @throws CliError (usage) that names the missing or invalid option; (interrupted) on Ctrl-C
 */
export async function addContext(commandContext: CommandContext, name: string): Promise<StoredContext> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
    throw usageError('name: must be 1 to 63 lower-case letters, digits and inner dashes.');
  }
  const given = (option: 'server' | 'token' | 'ca' | 'clientCert' | 'clientKey' | 'tokenFile') => {
    const found = commandContext.typed(option);
    return found?.source === 'cli' ? found : undefined;
  };
  const address = given('server');
  if (address === undefined) throw usageError('--server <url>: this option is required');
  const server = baseUrl(address);
  const [ca, clientCert, clientKey] = (['ca', 'clientCert', 'clientKey'] as const).map((option) => {
    const path = given(option)?.value;
    return path === undefined ? undefined : resolve(path);
  });
  checkTrust(server, { ca, clientCert, clientKey });
  if (given('token')) {
    throw usageError('--token: other users can read the command line. Give the token with --token-file.');
  }
  const token = clientCert === undefined ? await readToken(commandContext, given('tokenFile')) : undefined;
  return { server, ...omitUndefined({ token, ca, clientCert, clientKey }) };
}

async function readToken(
  { streams }: CommandContext,
  file: Parameters<typeof readTokenFile>[0] | undefined,
): Promise<string> {
  if (file !== undefined) return checkToken(readTokenFile(file)).value;
  if (!canPrompt(streams)) {
    throw usageError(
      'Give the token with --token-file, a file of mode 0600, or - for standard input; or a certificate with --client-cert.',
    );
  }
  const { Token: value = '' } = await promptSecrets(['Token'], streams);
  return checkToken({ value, from: 'the input' }).value;
}
