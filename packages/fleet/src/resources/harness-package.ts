import { harnessPackages, isNpmPackage } from '@flotilla/protocol/agent-harness'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import type { Harness } from '@flotilla/protocol/harness'

/** The list with the package of a known harness; undefined for an empty list. Pure. */
export function withHarness(packages: PackageList, harness: Harness | null): PackageList | undefined {
  const { npm = [] } = packages
  const name = typeof harness === 'string' ? harnessPackages[harness] : undefined
  if (name === undefined || npm.some((listed) => isNpmPackage(listed, name)))
    return Object.keys(packages).length === 0 ? undefined : packages
  return { ...packages, npm: [...npm, name] }
}
