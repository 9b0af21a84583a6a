/** What an object must be for a call to change it. Undefined: anything. */
export function precondition(etag: string | undefined, absent = false) {
  if (absent) return { state: { case: "absent" as const, value: {} } };
  return etag ? { state: { case: "etag" as const, value: etag } } : undefined;
}
