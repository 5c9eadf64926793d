// The systems whose exports can be imported as they are.
import { CRYPTOLENS } from './cryptolens.ts';
import { KEYGEN } from './keygen.ts';
import type { Profile } from './profile.ts';

export const PROFILES = { keygen: KEYGEN, cryptolens: CRYPTOLENS } as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;
