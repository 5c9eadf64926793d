// Parsers of the files in deploy/: Dockerfile, compose file, unit, manifests.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { parse, parseAllDocuments } from 'yaml';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'deploy');

export const readDeploy = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');
export const readJson = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
export const MANIFESTS = readdirSync(join(FOLDER, 'kubernetes')).filter(
  (name) => name !== 'kustomization.yaml',
);

/** Docker and Kubernetes read YAML 1.1: 0440 is octal, and << merges. */
const YAML = { version: '1.1', merge: true } as const;

/** The part of a manifest that tests look at; kubernetes-models checks all of it. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: another form for each kind
  readonly spec?: any;
};

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text, YAML).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}

export const manifests = (): Manifest[] =>
  MANIFESTS.flatMap((name) => parseManifests(readDeploy(`kubernetes/${name}`)));

export const kustomization = () => parse(readDeploy('kubernetes/kustomization.yaml'), YAML);
export const compose = () => parse(readDeploy('compose.yaml'), YAML);

/** Instructions of each stage, without FROM, by the stage's name; the last one's is `image`. */
export function stagesOf(dockerfile: string): Map<string, { from: string; steps: readonly Instruction[] }> {
  const stages = new Map<string, { from: string; steps: Instruction[] }>();
  let current: Instruction[] = [];
  for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
    if (instruction.getKeyword() !== 'FROM') current.push(instruction);
    else {
      const [from = '', , name = 'image'] = wordsOf(instruction);
      current = [];
      stages.set(name, { from, steps: current });
    }
  }
  return stages;
}

export function wordsOf(instruction: Instruction): string[] {
  return instruction.getArguments().map((word) => word.getValue());
}

/** The words of an exec form, behind CMD in a HEALTHCHECK; undefined if it is a shell's. */
export function execForm(instruction: Instruction | undefined): string[] | undefined {
  const [json] = /\[.*\]$/s.exec(instruction?.getArgumentsContent() ?? '') ?? [];
  return json === undefined ? undefined : JSON.parse(json);
}

/** What the image's HEALTHCHECK runs. */
export function healthCommand(): string[] {
  const steps = stagesOf(readDeploy('Dockerfile')).get('image')?.steps ?? [];
  return execForm(steps.find((step) => step.getKeyword() === 'HEALTHCHECK')) ?? [];
}

/** The settings of a unit: those that repeat have several values. */
export function settingsOf(unit: string): Map<string, string[]> {
  const settings = new Map<string, string[]>();
  for (const [, name = '', value = ''] of unit.matchAll(/^(\w+)=(.*)$/gm)) {
    settings.set(name, [...(settings.get(name) ?? []), value]);
  }
  return settings;
}

/** A pod's one container, in the words of Kubernetes, with what it gets from the kustomization. */
export function containerOf(pod: Manifest) {
  const { template } = pod.spec;
  const [container] = template.spec.containers;
  const given = (container.envFrom ?? []).flatMap((source: { configMapRef: { name: string } }) => {
    const made = kustomization().configMapGenerator.find(
      ({ name }: { name: string }) => name === source.configMapRef.name,
    );
    return made.literals.map((literal: string) => literal.split(/=(.*)/s).slice(0, 2));
  });
  const own = container.env.map(({ name, value }: { name: string; value: string }) => [name, value]);
  const environment: Record<string, string> = Object.fromEntries([...given, ...own]);
  return { pod: template.spec, container, environment };
}

/** Those that run pods. */
export function podsOf(all: readonly Manifest[]): Map<string, Manifest> {
  return new Map(
    all.filter(({ spec }) => spec?.template !== undefined).map((each) => [each.metadata.name, each]),
  );
}
