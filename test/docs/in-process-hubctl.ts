// Runs the hubctl commands of a page in the process of the tests, which takes a tenth of starting a program.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Printed, printedBy } from '../cli/run-here.ts';

/** A function of bash that replaces the program. */
export type HubctlFunction = {
  readonly definition: string;
  close(): void;
};

type Call = { readonly folder: string; readonly words: string[]; readonly env: Record<string, string> };

/**
 * The function sends its folder, words and environment to this process, and prints the answer. Commands that read
 * standard input or run until they are stopped start the program.
 */
export async function serveHubctl(): Promise<HubctlFunction> {
  const server = createServer((socket) => {
    socket.on('error', () => {}); // the shell sees the end of the connection
    void answer(socket).catch((error) => socket.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    definition: `hubctl() {
      case " $* " in
        *' serve '* | *' demo '* | *' simulator '* | *' top '* | *' listen '* | *' tail '* | *' --watch '*)
          # The process of a job is the program, which a page may stop.
          [ "$BASH_SUBSHELL" = 0 ] || exec "$(type -P hubctl)" "$@"
          command hubctl "$@"; return ;;
      esac
      [ -c /dev/stdin ] || { command hubctl "$@"; return; }
      local out err code
      {
        printf '%s\\0' "$PWD" "$#" "$@" >&9
        env -0 >&9
        printf '\\0' >&9
        IFS= read -r -d '' out <&9 && IFS= read -r -d '' err <&9 && read -r -d '' code <&9
      } 9<> /dev/tcp/127.0.0.1/${port} || return 99
      printf '%s' "$err" >&2
      printf '%s' "$out"
      return "$code"
    }`,
    close: () => server.close(),
  };
}

async function answer(socket: Socket): Promise<void> {
  const { stdout, stderr, code } = await runInTurn(await readCall(socket));
  socket.end(`${stdout}\0${stderr}\0${code}\0`);
}

async function readCall(socket: Socket): Promise<Call> {
  let received = '';
  for await (const chunk of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    received += chunk;
    if (received.endsWith('\0\0') && isWhole(received.split('\0'))) break;
  }
  const [folder = '', count, ...rest] = received.split('\0');
  const variables = rest.slice(Number(count), -2).map((line): [string, string] => {
    const at = line.indexOf('=');
    return [line.slice(0, at), line.slice(at + 1)];
  });
  return { folder, words: rest.slice(0, Number(count)), env: Object.fromEntries(variables) };
}

/** An empty word may look like the end. */
const isWhole = ([, count, ...rest]: string[]): boolean => rest.length > Number(count) + 2;

/** The folder and the environment belong to the whole process. */
function runInTurn({ folder, words, env }: Call): Promise<Printed> {
  const run = last.then(async () => {
    const original = { env: process.env, folder: process.cwd() };
    process.env = env;
    process.chdir(folder);
    try {
      return await printedBy(words);
    } finally {
      process.env = original.env;
      process.chdir(original.folder);
    }
  });
  last = run.catch(() => {}); // the caller gets the error
  return run;
}
let last: Promise<unknown> = Promise.resolve();
