// Every service of the contract, found in the generated code.
import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { DescService } from '@bufbuild/protobuf';

const GEN = fileURLToPath(new URL('../../../gen/', import.meta.url));

/** A service that is added to the contract is among them without a word here. */
export async function contractServices(): Promise<DescService[]> {
  const services: DescService[] = [];
  for await (const path of glob('**/*_pb.ts', { cwd: GEN })) {
    const exported: Record<string, unknown> = await import(`${GEN}${path}`);
    services.push(...Object.values(exported).filter(isService));
  }
  return services.sort((a, b) => a.typeName.localeCompare(b.typeName));
}

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}
