// The image without Docker: runs the steps of its Dockerfile, and builds a container from kernel features.
import { type ChildProcessByStdio, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { Instruction } from 'dockerfile-ast';
import type { Context } from 'mocha';
import { execForm, ROOT, readDeploy, stagesOf, wordsOf } from './files.ts';

const run = promisify(execFile);

/** Pending where namespaces are not allowed: the tests need root, on Linux. */
export function requireNamespaces(test: Context): void {
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--fork', '--mount-proc', 'true']);
  if (status === 0) return;
  process.stderr.write('      pending: no root who may make namespaces\n');
  test.skip();
}

/** The build context: the file excludes everything, then lists what is included. */
export function contextFiles(ignore: string): string[] {
  const [all, ...names] = ignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (all !== '*' || !names.every((name) => /^![\w./-]+$/.test(name))) {
    throw new Error('deploy/Dockerfile.dockerignore leaves all out, then names what is in');
  }
  return names.map((name) => name.slice(1));
}

/**
 * Carries out the stages in `room` and returns the folder that is /opt/hubctl in the image. The modules that only the
 * package is made with are those of this checkout, which `npm ci` has installed; RUN of the last stage needs Docker.
 */
export async function buildByHand(room: string): Promise<string> {
  const context = join(room, 'context');
  for (const name of contextFiles(readDeploy('Dockerfile.dockerignore'))) {
    cpSync(join(ROOT, name), join(context, name), { recursive: true });
  }
  for (const [stage, { steps }] of stagesOf(readDeploy('Dockerfile'))) {
    const at = (path: string) => join(room, stage, path);
    let directory = '/';
    for (const step of steps) {
      const words = wordsOf(step);
      if (step.getKeyword() === 'WORKDIR') {
        directory = words[0] ?? '/';
        mkdirSync(at(directory), { recursive: true });
      } else if (step.getKeyword() === 'COPY') {
        copy(step, room, context, at(join(directory, words.at(-1) ?? '')));
      } else if (step.getKeyword() === 'RUN' && stage !== 'image') {
        if (words.join(' ') === 'npm ci')
          symlinkSync(join(ROOT, 'node_modules'), at(`${directory}/node_modules`));
        else await run('sh', ['-c', step.getArgumentsContent() ?? ''], { cwd: at(directory), env: OF_NPM });
      }
    }
  }
  return join(room, 'image/opt/hubctl');
}

/** What a test run has installed, it need not download. */
const OF_NPM = { ...process.env, npm_config_prefer_offline: 'true' };

function copy(step: Instruction, room: string, context: string, to: string): void {
  const [, stage] = /--from=(\S+)/.exec(step.getTextContent()) ?? [];
  const sources = wordsOf(step).slice(0, -1);
  for (const source of sources) {
    const from = stage === undefined ? join(context, source) : join(room, stage, source);
    const into = sources.length > 1 || (source !== '.' && to.endsWith('/')) ? join(to, source) : to;
    cpSync(from, into, { recursive: true });
  }
}

export type ContainerOptions = {
  /** What `buildByHand` returned. */
  readonly program: string;
  /** Beyond those of the image. */
  readonly environment: Record<string, string>;
  /** In place of the CMD of the image. */
  readonly words?: readonly string[];
  readonly group?: number;
  /** Files and folders, by the path that they have inside. */
  readonly mounts: Record<string, string>;
};

export type Addresses = { readonly gateway?: string; readonly rpc?: string; readonly metrics?: string };

export type Container = {
  /** Lines of its log. */
  readonly lines: readonly string[];
  /** Resolves with the code it ends with. */
  readonly ended: Promise<number>;
  complaints(): string;
  /** Of its log, once it is ready. */
  readonly ready: Promise<Addresses>;
  /** SIGTERM to process 1 of the container, as `docker stop` and the kubelet send it, unless it has ended; the code. */
  stop(): Promise<number>;
};

/**
 * Process 1 in namespaces of its own: user, environment, entrypoint of the image; no capability; nothing that can be written
 * but the mounts, not even /tmp. Its network is that of this machine.
 */
export function runContainer({ program, environment, words, group, mounts }: ContainerOptions): Container {
  const steps = stagesOf(readDeploy('Dockerfile')).get('image')?.steps ?? [];
  const find = (keyword: string) => steps.find((step) => step.getKeyword() === keyword);
  const [user = '', ownGroup = ''] = (wordsOf(find('USER') as Instruction)[0] ?? '').split(':');
  const variables = wordsOf(find('ENV') as Instruction).map((word) => word.split('='));
  const command = [...(execForm(find('ENTRYPOINT')) ?? []), ...(words ?? execForm(find('CMD')) ?? [])];
  const all = { ...mounts, '/opt/hubctl': program, '/opt/bin/node': process.execPath };
  const binds = Object.entries(all).map(([inside, outside]) => bind(outside, inside));
  const script = `set -e
    mount --make-rprivate /
    for place in /opt /run /var/lib; do mount -t tmpfs -o mode=755 tmpfs $place; done
    mkdir /opt/bin && ln -s /opt/hubctl/cli/hubctl.js /opt/bin/hubctl
    ${binds.join('\n')}
    mount -t tmpfs -o ro tmpfs /tmp
    for place in / /opt /run /var/lib; do mount -o remount,bind,ro $place; done
    cd /
    exec setpriv --reuid ${user} --regid ${ownGroup} --groups ${group ?? ownGroup} \\
      --no-new-privs --bounding-set=-all --inh-caps=-all -- env -i PATH=/opt/bin:/usr/bin:/bin "$@"`;
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--mount-proc', '--kill-child', 'sh', '-c', script, 'sh'],
      ...variables.map(([name, value]) => `${name}=${value}`),
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      ...command,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  return watch(child);
}

/** A line of the shell that mounts a file or folder; neither has a name that a shell would read otherwise. */
function bind(outside: string, inside: string): string {
  const place = statSync(outside).isDirectory()
    ? `mkdir -p ${inside}`
    : `mkdir -p ${dirname(inside)} && touch ${inside}`;
  return `${place} && mount --bind ${outside} ${inside}`;
}

function watch(child: ChildProcessByStdio<null, Readable, Readable>): Container {
  const lines: string[] = [];
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const ended = once(child, 'close').then(([code]) => Number(code));
  const isReady = new Promise<Addresses>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      if (line.includes('hub is ready')) resolve(JSON.parse(line));
    });
  });
  const ready = Promise.race([
    isReady,
    ended.then((code) => {
      throw new Error(`it ended with ${code}: ${complaints}${lines.slice(-3).join('\n')}`);
    }),
  ]);
  ready.catch(() => {}); // whoever waits for its end does not wait for this
  return {
    lines,
    ended,
    ready,
    complaints: () => complaints,
    stop() {
      if (child.exitCode === null) {
        const [first = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
        process.kill(Number(first), 'SIGTERM');
      }
      return ended;
    },
  };
}
