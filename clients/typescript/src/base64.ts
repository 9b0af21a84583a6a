/** A `data:` URL of a content, which is in base64 if it is a text. Empty without content. */
export function dataUrl(data: Uint8Array | string, mediaType: string): string {
  if (data.length === 0) return "";
  return `data:${mediaType || "application/octet-stream"};base64,${typeof data === "string" ? data : base64(data)}`;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}
