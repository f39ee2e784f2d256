import { createSecureContext } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import type { Authority, KeyPair } from './sign-certificate.ts'

/** How many hosts have a certificate in memory; the one that was not used for the longest time is dropped. */
export const hostsMax = 500
/** How long a certificate is used before it is replaced, in milliseconds; it is valid for 30 days. */
const useMaxMs = 7 * 86_400_000

/**
 * Returns the TLS parameters with which the mesh answers as this host. All hosts share one key pair, which exists
 * only in the memory of this process; keys and signatures are made in threads of Node's pool.
 */
export type CertificateOf = (host: string) => Promise<SecureContext>

interface Made {
  readonly context: Promise<SecureContext>
  readonly at: number
}

export function createHostCertificates(deps: {
  readonly authority: Authority
  readonly clock: Clock
}): CertificateOf {
  const made = new Map<string, Made>()
  let key: Promise<KeyPair> | null = null

  async function make(host: string): Promise<SecureContext> {
    const { makeKeyPair, signHost } = await import('./sign-certificate.ts')
    key ??= makeKeyPair()
    const { publicKey, privateKey } = await key
    const certificate = await signHost(deps.authority, { host, publicKey, now: deps.clock.now() })
    return createSecureContext({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: certificate + deps.authority.certificate,
      minVersion: 'TLSv1.2',
    })
  }

  return (host) => {
    const known = made.get(host)
    if (known && deps.clock.now() - known.at < useMaxMs) {
      // The map is in the order of use.
      made.delete(host)
      made.set(host, known)
      return known.context
    }
    const context = make(host)
    made.delete(host)
    made.set(host, { context, at: deps.clock.now() })
    context.catch(() => made.delete(host))
    for (const oldest of made.keys()) {
      if (made.size <= hostsMax) break
      made.delete(oldest)
    }
    return context
  }
}
