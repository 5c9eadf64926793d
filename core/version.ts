// The version of this hub, from the package it was started from.
import { createRequire } from 'node:module';

/** Semantic version, for example `0.1.0`. */
export const HUB_VERSION: string = createRequire(import.meta.url)('../package.json').version;
