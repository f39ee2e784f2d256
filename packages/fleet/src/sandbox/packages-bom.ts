import type { InstalledPackage } from './package-images.ts'
import { lockDigest } from './package-lock.ts'
import type { PackageLock } from './package-lock.ts'

const purlTypes = { apt: 'deb/debian', npm: 'npm', pip: 'pypi' } as const

/**
 * Returns a software bill of materials in the form of CycloneDX 1.5, from the package databases of an image. It has no
 * time and no random id, so that equal images give equal files. Pure.
 */
export function packagesBom(lock: PackageLock, installed: readonly InstalledPackage[]) {
  const digests = new Map<string, string>(
    (['apt', 'pip'] as const).flatMap((kind) =>
      lock[kind].map(({ name, version, sha256 }) => [`${kind} ${name} ${version}`, sha256] as const),
    ),
  )
  const components = installed
    .map(({ kind, name, version }) => {
      const purl = `pkg:${purlTypes[kind]}/${name.replace(/^@/, '%40')}@${encodeURIComponent(version)}`
      const sha256 = digests.get(`${kind} ${name} ${version}`)
      const hashes = sha256 === undefined ? {} : { hashes: [{ alg: 'SHA-256', content: sha256 }] }
      return { type: 'library', name, version, purl, 'bom-ref': purl, ...hashes }
    })
    .toSorted((one, other) => (one.purl < other.purl ? -1 : 1))
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'container', name: 'flotilla-packages', version: lockDigest(lock) } },
    components: components.filter(({ purl }, index) => purl !== components[index - 1]?.purl),
  }
}
