/** The entries of all pages; `read` returns a page and the token of the next one. */
export async function* pages<T>(read: (pageToken: string) => Promise<[T[], string]>): AsyncGenerator<T, void, undefined> {
  let pageToken = "";
  do {
    const [entries, next] = await read(pageToken);
    yield* entries;
    pageToken = next;
  } while (pageToken !== "");
}
