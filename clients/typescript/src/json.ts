import { parse, stringify } from "lossless-json";

/** A value of JSON. Integers beyond 2^53 are bigint, so that they have all their digits. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;

/** An object of JSON, as it is read. */
export type JsonObject = { [name: string]: JsonValue };

/** An object to store as JSON, which may have bigint; or JSON text, which is stored as it is. */
export type NewJson = Readonly<Record<string, unknown>> | string;

/**
 * The JSON text of a value. A string is JSON already and returned as it is. A bigint becomes a
 * number with all its digits. It throws if the value contains NaN or an infinity.
 *
 * @param name what the error calls the value.
 */
export function jsonText(value: unknown, name = "value"): string {
  if (typeof value === "string") return value;
  refuseNonNumbers(value, name);
  const text = stringify(value);
  if (text === undefined) throw new TypeError(`${name} has no JSON`);
  return text;
}

/** The value of a JSON text, with bigint for integers beyond 2^53. */
export function jsonValue(text: string): JsonValue {
  // The parser of the platform is faster, and exact if no number is long.
  if (!/\d{16}/.test(text)) return JSON.parse(text) as JsonValue;
  return parse(text, undefined, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as JsonValue;
}

/** The object of a JSON text of the contract, such as the metadata of a message. Empty: no fields. */
export function jsonObject(text: string): JsonObject {
  return text === "" ? {} : (jsonValue(text) as JsonObject);
}

function parseNumber(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(text) ? number : BigInt(text);
}

function refuseNonNumbers(value: unknown, name: string): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`${name}: JSON has no ${value}; use null or a text`);
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    refuseNonNumbers(entry, Array.isArray(value) ? `${name}[${key}]` : `${name}.${key}`);
  }
}
