import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import type { ProgramSetup } from '@flotilla/fleet/events'

/** Where the owner of this machine adds certificate authorities; the agents' image trusts them too. */
const hostAuthorities = '/usr/local/share/ca-certificates'

const bundleName = 'ca-bundle.pem'
const authorityName = 'inspection-ca.pem'

/** Variables that name a file with every authority that a program trusts. */
const bundleVariables = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
  'DENO_CERT',
  'npm_config_cafile',
] as const

/** Reads the authorities that containers trust without inspection: Mozilla's list and those of this machine. */
export async function readPublicAuthorities(): Promise<readonly string[]> {
  const names = await readdir(hostAuthorities).catch(() => [])
  const own = await Promise.all(
    names
      .filter((name) => name.endsWith('.crt'))
      .toSorted()
      .map((name) => readFile(join(hostAuthorities, name), 'utf8').catch(() => '')),
  )
  return [...getCACertificates('bundled'), ...own.filter((text) => text !== '')]
}

/** What a container needs so that its programs trust the authority of the fleet besides the public ones. Pure. */
export function trustedFiles(authority: string, publicAuthorities: readonly string[]): ProgramSetup {
  const bundle = [...publicAuthorities, authority].map((text) => text.trim()).join('\n')
  const place = (name: string) => `/briefing/${name}`
  return {
    environment: {
      ...Object.fromEntries(bundleVariables.map((name) => [name, place(bundleName)])),
      // Node adds this file to its own list.
      NODE_EXTRA_CA_CERTS: place(authorityName),
    },
    files: { [bundleName]: `${bundle}\n`, [authorityName]: authority },
  }
}
