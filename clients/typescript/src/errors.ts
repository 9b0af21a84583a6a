import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";

/** A field of a request with an invalid value. */
export interface FieldError {
  /** The path of the field, such as `messages[2].parts[0].text`. */
  field: string;
  /** What is wrong with its value. */
  description: string;
}

/**
 * The error of every failed call.
 *
 * `code` is the code of gRPC, `status` its name, and `reason` the kind of error, a name of
 * `ErrorReason` without its prefix, such as `THREAD_NOT_FOUND`.
 */
export class RecollectError extends Error {
  override readonly name: string = "RecollectError";
  /** The code of gRPC. */
  readonly code: Code;
  /** The name of the code, such as `NOT_FOUND`. */
  readonly status: string;
  /** The kind of error, such as `THREAD_NOT_FOUND`. Empty: the server did not answer. */
  readonly reason: string;
  /** What the server says about the reason, such as the `head` of `HEAD_MOVED`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The invalid fields of the request. */
  readonly fields: readonly FieldError[];
  /** The delay after which the server expects a retry to succeed, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The number of attempts that were made. */
  readonly attempts: number;
  /** The error as Connect gives it, with all details. */
  override readonly cause: ConnectError;

  constructor(cause: ConnectError, attempts = 1) {
    const code = codeOf(cause);
    const info = cause.findDetails(ErrorInfoSchema)[0];
    const status = Code[code].replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
    const reason = info?.reason ?? "";
    const fields = cause
      .findDetails(BadRequestSchema)
      .flatMap((details) => details.fieldViolations)
      .map(({ field, description }) => ({ field, description }));
    super(readable(status, reason, cause.rawMessage, fields, attempts), { cause });
    this.cause = cause;
    this.code = code;
    this.status = status;
    this.reason = reason;
    this.metadata = info?.metadata ?? {};
    this.fields = fields;
    this.attempts = attempts;
    const delay = cause.findDetails(RetryInfoSchema)[0]?.retryDelay;
    this.retryAfterMs = delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  }

  /** The limits that were exceeded, with the reason `QUOTA_EXCEEDED`. */
  get quotas(): { subject: string; description: string }[] {
    return this.cause
      .findDetails(QuotaFailureSchema)
      .flatMap((details) => details.violations)
      .map(({ subject, description }) => ({ subject, description }));
  }

  /** For logs: the error without its stack. */
  toJSON(): JsonObject {
    const { status, reason, message, attempts } = this;
    const fields = this.fields.map((field) => ({ ...field }));
    return { status, reason, message, metadata: { ...this.metadata }, fields, attempts };
  }

  /** The error for anything that a call threw. */
  static from(thrown: unknown, attempts = 1): RecollectError {
    if (thrown instanceof RecollectError) return thrown;
    return new RecollectError(ConnectError.from(thrown), attempts);
  }
}

/** A connection that broke is UNAVAILABLE, whatever the transport calls it. */
function codeOf(error: ConnectError): Code {
  const ofServer = error.details.length > 0;
  const broken = error.code === Code.Aborted || error.cause instanceof TypeError || isBroken(error.cause);
  return !ofServer && broken ? Code.Unavailable : error.code;
}

const BROKEN = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_HTTP2_(STREAM|SESSION)_ERROR|ERR_HTTP2_INVALID_SESSION|ERR_HTTP2_GOAWAY_SESSION|ERR_STREAM_PREMATURE_CLOSE)$/;

function isBroken(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  return ("code" in cause && typeof cause.code === "string" && BROKEN.test(cause.code)) || isBroken(cause.cause);
}

function readable(status: string, reason: string, message: string, fields: FieldError[], attempts: number): string {
  const kind = reason ? `${status} (${reason})` : status;
  const listed = fields
    .filter(({ field }) => !message.includes(field))
    .map(({ field, description }) => `${field}: ${description}`);
  const said = [message, ...listed].filter((text) => text !== "").join("; ");
  const tried = attempts > 1 ? ` (after ${attempts} attempts)` : "";
  return `${kind}: ${said}${tried}`;
}
