// What a route says about itself: of this and the contract the OpenAPI document is made (`npm run gen`).
import type { DescMethod } from '@bufbuild/protobuf';
import type { ProblemCode } from './problem.ts';

/** A schema of JSON Schema 2020-12. One with a `title` has its place under that name among the document's components. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export type Tag = 'Licenses' | 'Keys and limits' | 'Payment callbacks' | 'Health' | 'Reference';

export type Operation = {
  /** A name for generated clients: unique, in lowerCamelCase. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** In Markdown. By default the comment of the RPC. */
  readonly description?: string;
  /** The RPC that answers. The fields of its request are the parameters, or the members of the body. */
  readonly rpc?: DescMethod;
  readonly answer: AnswerShape;
  /** What it refuses, besides what any request or any body can be refused for. */
  readonly problems: readonly ProblemCode[];
};

export type AnswerShape = {
  /** What the answer with status 200 is. */
  readonly description: string;
  readonly contentType: string;
  /**
   * Of text, its schema. Otherwise the answer is a JSON object with all fields of the RPC's response; these members are
   * there besides, or in place of one.
   */
  readonly schema?: JsonSchema;
  readonly members?: { readonly [name: string]: JsonSchema };
  /** Members that may be missing. */
  readonly optional?: readonly string[];
  /** Whether it has an entity tag and may be cached, as `tagged` answers. */
  readonly tagged?: boolean;
};

/** One operation for each gateway: its driver knows the method, the fields and the answer. */
export type CallbackOperation = {
  readonly tag: Tag;
  readonly rpc: DescMethod;
  readonly problems: readonly ProblemCode[];
};

/** Not in the document, and why not. */
export type Unlisted = { readonly unlisted: string };

export type About = Operation | CallbackOperation | Unlisted;

/** The RPC that answers, if one does. */
export function rpcOf(about: About): DescMethod | undefined {
  return 'rpc' in about ? about.rpc : undefined;
}
