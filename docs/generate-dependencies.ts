// Writes the list of all packages into docs/dependencies.md, from package-lock.json. `npm run docs:dependencies` runs it.
import { readFileSync, writeFileSync } from 'node:fs';

type LockedPackage = {
  readonly name?: string;
  readonly version: string;
  readonly license: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
};

const PAGE = new URL('dependencies.md', import.meta.url);
const LOCK = new URL('../package-lock.json', import.meta.url);
const [BEGIN, END] = [
  '<!-- packages: written by npm run docs:dependencies -->\n',
  '\n<!-- end of packages -->',
];

/** The page with the list of these packages in its place. `locked`: by their paths, the root's being empty. */
function withList(page: string, locked: Readonly<Record<string, LockedPackage>>): string {
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined) {
    throw new Error(`${PAGE.pathname} has no place for the list`);
  }
  const rows = new Set(
    Object.entries(locked)
      .filter(([path]) => path !== '')
      .map(([path, each]) => rowOf(each.name ?? path.split('node_modules/').at(-1) ?? path, each)),
  );
  const header = '| package | version | license | used for |\n|---|---|---|---|';
  return `${before}${BEGIN}\n${header}\n${[...rows].sort().join('\n')}\n${END}${after}`;
}

function rowOf(name: string, { version, license, dev, optional }: LockedPackage): string {
  const use = dev ? 'development' : optional ? 'running, on some platforms' : 'running';
  return `| \`${name}\` | ${version} | ${license} | ${use} |`;
}

const { packages } = JSON.parse(readFileSync(LOCK, 'utf8'));
writeFileSync(PAGE, withList(readFileSync(PAGE, 'utf8'), packages));
