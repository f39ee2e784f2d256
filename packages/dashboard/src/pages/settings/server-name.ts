/** Makes a typed text a valid name of a server. Pure. */
export function serverName(typed: string): string {
  return typed
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replace(/^[_-]+/, '')
    .slice(0, 64)
}
