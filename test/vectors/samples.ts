// The samples under docs/verify: their requirements, their build and their run.
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SAMPLES_FOLDER = fileURLToPath(new URL('../../docs/verify/', import.meta.url));

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };
type Command = readonly [string, ...string[]];

/** Commands are run in a copy of the sample's folder. */
export type Sample = {
  readonly folder: string;
  /** How to install the missing parts. */
  readonly install: string;
  /** Succeeds if what the sample needs is there. */
  readonly needs: Command;
  readonly build: readonly Command[];
  /** Runs the sample's own test over the file in the environment variable `VECTORS`. */
  readonly test: Command;
  /** The program; its arguments come behind. */
  readonly program: Command;
};

// Another Python may hide Debian's, which alone has the packages of Debian.
const PYTHON =
  ['python3', '/usr/bin/python3'].find(
    (each) => spawnSync(each, ['-c', 'import cryptography']).status === 0,
  ) ?? 'python3';
const NODE = process.execPath;

// Debian's packages of crates, in place of a registry.
const DEBIAN_CRATES = '/usr/share/cargo/registry';
const CRATES = ['data-encoding', 'humantime', 'ring', 'serde', 'serde-json'];
const CARGO = [
  'cargo',
  '--config=source.crates-io.replace-with="debian"',
  `--config=source.debian.directory="${DEBIAN_CRATES}"`,
  '--config=profile.dev.debug=0', // takes half as long
] as const;

export const SAMPLES: readonly Sample[] = [
  {
    folder: 'javascript',
    install: 'nothing is missing',
    needs: [NODE, '--version'],
    build: [],
    test: [NODE, '--test', 'vectors.test.mjs'],
    program: [NODE, 'verify-license.mjs'],
  },
  {
    folder: 'python',
    install: 'apt install python3-cryptography',
    needs: [PYTHON, '-c', 'import cryptography'],
    build: [],
    test: [PYTHON, '-m', 'unittest'],
    program: [PYTHON, 'verify_license.py'],
  },
  {
    folder: 'go',
    install: 'apt install golang-go',
    needs: ['go', 'version'],
    build: [
      ['go', 'build', '-o', 'verify-license'],
      ['go', 'test', '-c', '-o', 'vectors-test'],
    ],
    test: ['./vectors-test'],
    program: ['./verify-license'],
  },
  {
    folder: 'java',
    install: 'apt install default-jdk-headless',
    needs: ['javac', '--version'],
    build: [['javac', '-d', '.', 'VerifyLicense.java', 'VectorsTest.java']],
    test: ['java', 'VectorsTest'],
    program: ['java', 'VerifyLicense'],
  },
  {
    folder: 'rust',
    install: `apt install cargo ${CRATES.map((crate) => `librust-${crate}-dev`).join(' ')}`,
    needs: [
      'sh',
      '-c',
      [
        'cargo --version',
        ...CRATES.map((crate) => `ls -d ${DEBIAN_CRATES}/${crate.replace('-json', '_json')}-*`),
      ].join(' && '),
    ],
    build: [[...CARGO, 'build', '--bins', '--tests']],
    test: [...CARGO, 'test', '--', '--nocapture'],
    program: ['target/debug/verify-license'],
  },
  {
    folder: 'csharp',
    install: 'the .NET SDK, 8 or later; Debian has none',
    needs: ['dotnet', '--version'],
    build: [dotnetBuild('VerifyLicense.csproj'), dotnetBuild('test/VectorsTest.csproj')],
    test: ['dotnet', 'out/VectorsTest.dll'],
    program: ['dotnet', 'out/VerifyLicense.dll'],
  },
];

/** For the version of .NET that is there. */
function dotnetBuild(project: string): Command {
  return [
    'sh',
    '-c',
    `dotnet build ${project} -o out -p:TargetFramework=net$(dotnet --version | cut -d. -f1).0`,
  ];
}

/** Copies a sample to a folder of its own. */
export async function copyOf({ folder }: Sample): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), `hub-sample-${folder}-`));
  await cp(join(SAMPLES_FOLDER, folder), path, { recursive: true });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Runs a command; one that is not there ends with 127. Nothing is fetched from anywhere. */
export function run(
  [file, ...args]: Command,
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const offline = { GOPROXY: 'off', GOTOOLCHAIN: 'local', CARGO_NET_OFFLINE: 'true' };
  const env = { ...process.env, ...offline, ...variables };
  return new Promise((resolve) => {
    execFile(file, args, { cwd, env, encoding: 'utf8' }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127;
      resolve({ code, stdout, stderr });
    });
  });
}
