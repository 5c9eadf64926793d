// The package ships no types; these are of what we use.
declare module 'pino-roll' {
  import type { SonicBoom, SonicBoomOpts } from 'sonic-boom';

  type Options = SonicBoomOpts & {
    readonly file: string;
    /** A number and a unit: `b`, `k`, `m` or `g`. */
    readonly size: string;
    readonly limit: { readonly count: number; readonly removeOtherLogFiles: boolean };
  };
  // biome-ignore lint/style/noDefaultExport: the package has one
  export default function roll(options: Options): Promise<SonicBoom>;
}
