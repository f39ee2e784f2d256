/** How each package manager reports that its registry lacks a package or a version; the first group is the name. */
const reports: readonly (readonly [registry: string, pattern: RegExp])[] = [
  ['the apt sources', /E: Unable to locate package (\S+)/],
  ['the apt sources', /E: Version '[^']+' for '([^']+)' was not found/],
  ['the apt sources', /E: Package '([^']+)' has no installation candidate/],
  [
    'the npm registry',
    /npm error 404\s+(?:The requested resource )?'([^']+)' (?:is not in this registry|could not be found)/,
  ],
  ['the npm registry', /npm error notarget No matching version found for (\S+?)\.?$/m],
  ['the pip index', /ERROR: No matching distribution found for (\S+)/],
]

/** Returns the package that a registry lacks, from the output of the package managers; null if none is named. Pure. */
export function missingPackage(output: string): { readonly name: string; readonly registry: string } | null {
  for (const [registry, pattern] of reports) {
    const name = pattern.exec(output)?.[1]
    if (name !== undefined) return { name: name.slice(0, 200), registry }
  }
  return null
}
