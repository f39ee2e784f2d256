/** Longer ones are not even decoded, characters. */
const headerMaxChars = 2048

/**
 * The password of `Proxy-Authorization: Basic`, which is the token; the user name is for the eye alone. Null where
 * nothing of the kind was sent. Pure.
 */
export function proxyToken(header: string | undefined): string | null {
  if (header === undefined || header.length > headerMaxChars) return null
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const [, token] = /^[^:]*:(.+)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return token ?? null
}
