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

  constructor(cause: ConnectError, attempts = 1, call?: FailedCall) {
    const code = codeOf(cause);
    const info = cause.findDetails(ErrorInfoSchema)[0];
    const status = Code[code].replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
    const reason = info?.reason ?? "";
    const fields = cause
      .findDetails(BadRequestSchema)
      .flatMap((details) => details.fieldViolations)
      .map(({ field, description }) => ({ field, description }));
    super(readable(status, reason, call ? advised(cause, code, reason, call) : cause.rawMessage, fields, attempts), { cause });
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
  static from(thrown: unknown, attempts = 1, call?: FailedCall): RecollectError {
    if (thrown instanceof RecollectError) return thrown;
    return new RecollectError(ConnectError.from(thrown), attempts, call);
  }
}

/** What a call was, for the advice in its error. */
export interface FailedCall {
  /** The URL of the server. */
  address: string;
  /** The name of the method, such as `AppendMessages`. */
  method: string;
}

/** The error of a call that is refused before it is sent, as the server would refuse it. */
export function invalid(field: string, description: string): RecollectError {
  const info = { desc: ErrorInfoSchema, value: { reason: "INVALID_FIELD", domain: "recollect.dev" } };
  const request = { desc: BadRequestSchema, value: { fieldViolations: [{ field, description }] } };
  return new RecollectError(new ConnectError(`${field}: ${description}`, Code.InvalidArgument, undefined, [info, request]));
}

/** What happened and what to do, which the server cannot say because it depends on this client. */
function advised(cause: ConnectError, code: Code, reason: string, { address, method }: FailedCall): string {
  const said = cause.rawMessage;
  if (code === Code.Unauthenticated) return `${said.replace(/\.$/, "")}. Pass a key of this server as apiKey, or set RECOLLECT_API_KEY`;
  if (reason) return said;
  const advice = adviceFor(cause, code, address, method);
  return advice === "" ? said : `${advice} (${said})`;
}

function adviceFor(cause: ConnectError, code: Code, address: string, method: string): string {
  const failure = codesOf(cause);
  if (failure.some((name) => NO_TLS.test(name))) {
    return `The server at ${address} does not use TLS: use http:// in the address, or start it with a certificate`;
  }
  if (failure.some((name) => UNTRUSTED.test(name))) {
    return `The certificate of ${address} is not trusted: pass its authority as tls: { ca }, or the name in it as tls: { serverName }`;
  }
  switch (code) {
    case Code.Unavailable:
      return (
        `No Recollect server answers at ${address}: start one (\`recollect dev\`), or set address or RECOLLECT_ADDR. ` +
        "A server with TLS needs an address with https://"
      );
    case Code.DeadlineExceeded:
      return `${address} did not answer ${method} within the timeout of the call`;
    case Code.Unimplemented:
      return `The server at ${address} has no method ${method}: it is older than this client, or no Recollect server`;
    default:
      return "";
  }
}

/** A connection that broke is UNAVAILABLE, whatever the transport calls it. */
function codeOf(error: ConnectError): Code {
  const ofServer = error.details.length > 0;
  const broken = error.code === Code.Aborted || error.cause instanceof TypeError || isBroken(error.cause);
  return !ofServer && broken ? Code.Unavailable : error.code;
}

/** What Node.js calls a server that answers a TLS handshake in the clear. */
const NO_TLS = /^(EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/;
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/;
const BROKEN = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_HTTP2_(STREAM|SESSION)_ERROR|ERR_HTTP2_INVALID_SESSION|ERR_HTTP2_GOAWAY_SESSION|ERR_STREAM_PREMATURE_CLOSE)$/;

function isBroken(cause: unknown): boolean {
  return codesOf(cause).some((code) => [BROKEN, NO_TLS, UNTRUSTED].some((codes) => codes.test(code)));
}

/** The codes of Node.js of an error and of its causes. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  return [...("code" in error && typeof error.code === "string" ? [error.code] : []), ...codesOf(error.cause)];
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
