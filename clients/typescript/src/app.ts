import type { DescField, MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { invalid } from "./errors.js";
import type { FileType } from "./gen/recollect/v1/file_pb.js";
import {
  MemoryPolicySchema,
  type AppPolicy,
  type ExtractionStrategy,
  type FileDelivery,
  type ImageDetail,
  type MemoryKindSchema,
  type MemoryMode,
  type RecallScope,
  type Redaction,
  type SensitiveKind,
} from "./gen/recollect/v1/policy_pb.js";
import { PolicyService } from "./gen/recollect/v1/policy_service_pb.js";
import { jsonText, type NewJson } from "./json.js";
import { callOptions, type CallOptions } from "./options.js";
import { precondition } from "./precondition.js";

/** The names of an enum's values, such as `hybrid`. */
type Name<E> = Lowercase<Exclude<keyof E & string, "UNSPECIFIED">>;

/** A kind of memories that an app defines, such as an allergy or an order. */
export interface NewMemoryKind {
  /** 1 to 64 of a-z, 0-9 and `_`, beginning with a letter. */
  name: string;
  /** What is of this kind, for people and models: 1 to 1,024 characters. */
  description: string;
  /** The JSON Schema of the attributes: at most 8 KiB. Default: no attributes. */
  jsonSchema?: NewJson;
  /** What a user said, and the memory that it becomes: at most 8. */
  examples?: { said: string; text: string; attributes?: NewJson }[];
}

type Fields = Omit<MessageInitShape<typeof MemoryPolicySchema>, keyof NamedFields | `$${string}`> & NamedFields;

interface NamedFields {
  mode?: Name<typeof MemoryMode>;
  scope?: Name<typeof RecallScope>;
  extraction?: Name<typeof ExtractionStrategy>;
  fileDelivery?: Name<typeof FileDelivery>;
  fileTypes?: Name<typeof FileType>[];
  imageDetail?: Name<typeof ImageDetail>;
  redaction?: Name<typeof Redaction>;
  redactedKinds?: Name<typeof SensitiveKind>[];
  memoryKinds?: NewMemoryKind[];
}

/**
 * Fields of a policy to change: null clears a field, and those that are missing stay. Durations are
 * `{ seconds: 86_400n }`.
 */
export type Policy = { [F in keyof Fields]: Fields[F] | null };

/** How a policy is changed. */
export interface PolicyOptions extends CallOptions {
  /** The etag that the policy must have, or the call is ABORTED. Default: any. */
  etag?: string;
}

/** An app: a bot, flow or workflow. */
export class App {
  /** The app's id. */
  readonly id: string;
  readonly #policies: Client<typeof PolicyService>;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#policies = createClient(PolicyService, transport);
  }

  /** The app's policy, with the fields that it sets and its etag. */
  async policy(options?: CallOptions): Promise<AppPolicy> {
    return (await this.#policies.getAppPolicy({ appId: this.id }, callOptions(options))).appPolicy!;
  }

  /**
   * Changes fields of the app's policy, at least one: `setPolicy({ topK: 8, neverKeep: ["salary"] })`.
   * It applies from the next request on. Returns the whole policy.
   */
  async setPolicy(policy: Policy, options: PolicyOptions = {}): Promise<AppPolicy> {
    const fields = Object.entries(policy).flatMap(([name, value]) => (value === undefined ? [] : [{ field: fieldOf(name), value }]));
    const set = fields.flatMap(({ field, value }) => (value === null ? [] : [[field.localName, valueOf(field, value)]]));
    const request = {
      appPolicy: { appId: this.id, policy: Object.fromEntries(set) as MessageInitShape<typeof MemoryPolicySchema> },
      updateMask: { paths: fields.map(({ field }) => `policy.${field.name}`) },
      precondition: precondition(options.etag),
    };
    return (await this.#policies.updateAppPolicy(request, callOptions(options))).appPolicy!;
  }

  /** Deletes the app's policy, so that the defaults apply. False: it had none. */
  async deletePolicy(options?: CallOptions): Promise<boolean> {
    return (await this.#policies.deleteAppPolicy({ appId: this.id }, callOptions(options))).deleted;
  }
}

function fieldOf(name: string): DescField {
  const { fields } = MemoryPolicySchema;
  const field = fields.find(({ localName }) => localName === name);
  if (!field) throw invalid(name, `is no field of a policy, which has ${fields.map(({ localName }) => localName).join(", ")}`);
  return field;
}

/** The value of a field, as the contract has it. */
function valueOf(field: DescField, value: unknown): unknown {
  if (field.localName === "memoryKinds") return (value as NewMemoryKind[]).map(kindOf);
  if (!field.enum) return value;
  // The first value is the unspecified one.
  const numbers = new Map(field.enum.values.slice(1).map(({ localName, number }) => [localName.toLowerCase(), number]));
  const numberOf = (name: string) => {
    const number = numbers.get(name);
    if (number === undefined) throw invalid(field.localName, `${JSON.stringify(name)} is none of: ${[...numbers.keys()].join(", ")}`);
    return number;
  };
  return Array.isArray(value) ? value.map(numberOf) : numberOf(value as string);
}

function kindOf({ name, description, jsonSchema, examples }: NewMemoryKind): MessageInitShape<typeof MemoryKindSchema> {
  return {
    name,
    description,
    jsonSchema: jsonSchema && jsonText(jsonSchema, "jsonSchema"),
    examples: examples?.map(({ said, text, attributes }) => ({
      said,
      text,
      attributes: attributes && jsonText(attributes, "attributes"),
    })),
  };
}
