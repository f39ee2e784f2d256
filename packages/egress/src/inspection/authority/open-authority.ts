import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import type { Authority } from './sign-certificate.ts'

/** Only the owner can read and write the file. */
const secretMode = 0o600
/** An authority is replaced when it is valid for less than this time, in milliseconds. */
const renewBeforeMs = 90 * 86_400_000

/**
 * Opens the certificate authority of this home, or makes one. The name contains a tag of the home's id, and the key
 * is new for each home, so that no other fleet trusts what this one signs. A restored home has a new id and therefore
 * makes a new authority. Backups do not contain the key and name it among the secrets that they lack.
 */
export async function openAuthority(deps: {
  readonly path: string
  /** Eight hex digits that distinguish homes. */
  readonly homeTag: string
  readonly now: number
  readonly log: Pick<Log, 'info' | 'warn'>
}): Promise<Authority> {
  const commonName = `Flotilla fleet ${deps.homeTag}`
  const text = await readTextFile(deps.path)
  const known = text === null ? null : readAuthority(text, commonName)
  if (known !== null && validUntil(known) - deps.now > renewBeforeMs) return known
  if (text !== null) {
    deps.log.warn(
      { path: deps.path },
      'the certificate authority of inspected hosts is invalid, expires soon or belongs to another home; replaced it',
    )
  }
  const { makeKeyPair, signAuthority } = await import('./sign-certificate.ts')
  const key = await makeKeyPair()
  const certificate = await signAuthority(commonName, key, deps.now)
  const privateKey = key.privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFileAtomically(deps.path, `${privateKey}${certificate}`, secretMode)
  deps.log.info({ path: deps.path }, 'made the certificate authority of inspected hosts')
  return { certificate, commonName, key }
}

/** Reads the key and the certificate; null if they do not belong together or to this home. Pure. */
function readAuthority(text: string, commonName: string): Authority | null {
  const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(text)?.[0]
  if (certificate === undefined) return null
  try {
    const privateKey = createPrivateKey(text)
    const parsed = new X509Certificate(certificate)
    if (!parsed.checkPrivateKey(privateKey) || !parsed.ca || parsed.subject !== `CN=${commonName}`)
      return null
    return { certificate, commonName, key: { privateKey, publicKey: createPublicKey(privateKey) } }
  } catch {
    return null
  }
}

function validUntil({ certificate }: Authority): number {
  return Date.parse(new X509Certificate(certificate).validTo)
}
