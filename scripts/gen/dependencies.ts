// Writes the list of all packages into docs/dependencies.md, from package-lock.json.
import { readFileSync } from 'node:fs';
import { replaceSection } from './replace-section.ts';

type LockedPackage = {
  readonly name?: string;
  readonly version: string;
  readonly license: string;
  readonly dev?: boolean;
  /** A development dependency that a package may use, such as types. */
  readonly devOptional?: boolean;
  readonly optional?: boolean;
};

const PAGE = new URL('../../docs/dependencies.md', import.meta.url);
const LOCK = new URL('../../package-lock.json', import.meta.url);
const MARKS = [
  '<!-- packages: written by node scripts/gen/dependencies.ts -->',
  '<!-- end of packages -->',
] as const;

function rowOf([
  path,
  { name = path.split('node_modules/').at(-1) ?? path, version, license, dev, devOptional, optional },
]: [string, LockedPackage]): string {
  const use = dev || devOptional ? 'development' : optional ? 'running, on some platforms' : 'running';
  return `| \`${name}\` | ${version} | ${license} | ${use} |`;
}

const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync(LOCK, 'utf8'));
const rows = Object.entries(packages)
  .filter(([path]) => path !== '')
  .map(rowOf);
const head = '| package | version | license | used for |\n|---|---|---|---|';
replaceSection(PAGE, MARKS, [head, ...[...new Set(rows)].sort()].join('\n'));
