// Reads the objects of events, as the administration RPCs show them.
import { create, type DescMessage, type JsonObject, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { kindOf, OBJECT_KINDS, type ObjectKind } from './types.ts';

export type ShownObject = {
  /** The object's message as JSON, including fields with default values. */
  readonly data: JsonObject;
  /** UUID of the customer whose personal data `data` may contain. */
  readonly customerId?: string | null;
};

/** Returns the objects with these UUIDs. Leaves out objects that do not exist. */
export type ReadObjects = (ids: readonly string[]) => Promise<ReadonlyMap<string, ShownObject>>;

/** The reader of each kind of object. Each module provides the readers of its own objects. */
export type ObjectReaders = Readonly<Record<ObjectKind, ReadObjects>>;

export function showObject<S extends DescMessage>(schema: S, init: MessageInitShape<S>): JsonObject {
  // The JSON of each message of this project is an object. Only well-known types have other JSON.
  return toJson(schema, create(schema, init), { alwaysEmitImplicit: true }) as JsonObject;
}

type ObjectRef = { readonly kind: ObjectKind; readonly id: string };

export function objectRef(event: { readonly type: string; readonly objectId: string }): ObjectRef {
  return { kind: kindOf(event.type), id: event.objectId };
}

/** Reads objects of several kinds, each once. */
export async function readObjects(
  readers: ObjectReaders,
  refs: readonly ObjectRef[],
): Promise<(ref: ObjectRef) => ShownObject | undefined> {
  const kinds = Object.keys(OBJECT_KINDS) as ObjectKind[]; // the keys of a constant
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const ids = new Set(refs.filter((ref) => ref.kind === kind).map(({ id }) => id));
      return [kind, ids.size > 0 ? await readers[kind]([...ids]) : new Map()] as const;
    }),
  );
  const objects = new Map<ObjectKind, ReadonlyMap<string, ShownObject>>(found);
  return ({ kind, id }) => objects.get(kind)?.get(id);
}
