import * as z from 'zod/mini'

/** Ready lists of packages by the kind of work that they are for. */
export const toolboxNames = ['node', 'python', 'go', 'build'] as const
export type ToolboxName = (typeof toolboxNames)[number]

/** The maximum number of packages that one list names for each registry. */
export const packagesPerRegistryMax = 50

// A name never begins with `-`, because package managers would read it as an option. A name that ends with `-` would
// remove a package of apt, and a name that ends like an archive would be a local file to npm and pip.
const archive = String.raw`\.(?:tgz|tar|tar\.\w+|tbz2?|txz|tlz|zip|whl|gz|bz2|xz|lzma)`
const notArchive = String.raw`(?!.*${archive}(?:$|[@=<>!~[]))`
const aptPackage = z
  .string()
  .check(
    z.regex(
      /^(?!.*-(?:=|$))[a-z0-9][a-z0-9+.-]{0,127}(?:=[A-Za-z0-9][A-Za-z0-9.+:~-]{0,127})?$/,
      'an apt package is a name such as ripgrep, or a name and a version such as ripgrep=13.0.0-4+b2',
    ),
  )
const npmPackage = z
  .string()
  .check(
    z.regex(
      new RegExp(
        `^${notArchive}(?:@[a-z0-9][a-z0-9._~-]{0,127}/)?[a-z0-9][a-z0-9._~-]{0,127}(?:@[A-Za-z0-9^~<>=][A-Za-z0-9.^~<>=+-]{0,63})?$`,
      ),
      'an npm package is a name such as typescript or @scope/name, with or without @VERSION',
    ),
  )
const pipPackage = z.string().check(
  z.regex(
    new RegExp(
      String.raw`^${notArchive}[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:\[[A-Za-z0-9._,-]{1,128}\])?(?:(?:==|>=|<=|~=|!=|<|>)[A-Za-z0-9.*+!]{1,64}(?:,(?:==|>=|<=|~=|!=|<|>)[A-Za-z0-9.*+!]{1,64}){0,4})?$`,
      // pip reads an archive's ending in any case.
      'i',
    ),
    'a pip package is a name such as requests, with or without ==VERSION',
  ),
)

const listOf = (item: typeof aptPackage) =>
  z.optional(z.array(item).check(z.maxLength(packagesPerRegistryMax)))

/** The packages that an agent's image has in addition to the agent image. */
export const packageListSchema = z.strictObject({
  apt: listOf(aptPackage),
  npm: listOf(npmPackage),
  pip: listOf(pipPackage),
  toolboxes: z.optional(z.array(z.enum(toolboxNames)).check(z.maxLength(toolboxNames.length))),
})
export type PackageList = z.infer<typeof packageListSchema>

/** A list whose toolboxes are replaced by their packages, sorted and without repetitions. */
export interface JoinedPackages {
  readonly apt: readonly string[]
  readonly npm: readonly string[]
  readonly pip: readonly string[]
}

/** The packages of each toolbox. */
export const toolboxes: Readonly<Record<ToolboxName, JoinedPackages>> = {
  node: { apt: [], npm: ['pnpm', 'yarn'], pip: [] },
  python: { apt: ['python3-pip', 'python3-venv'], npm: [], pip: [] },
  go: { apt: ['golang-go'], npm: [], pip: [] },
  build: { apt: ['build-essential', 'pkg-config', 'python3-dev'], npm: [], pip: [] },
}

/** Joins lists; equal sets of packages give equal results. Pure. */
export function joinPackages(lists: readonly PackageList[]): JoinedPackages {
  const all = lists.flatMap((list) => [list, ...(list.toolboxes ?? []).map((name) => toolboxes[name])])
  const sorted = (registry: keyof JoinedPackages) =>
    [...new Set(all.flatMap((list) => list[registry] ?? []))].toSorted()
  return { apt: sorted('apt'), npm: sorted('npm'), pip: sorted('pip') }
}

export function isWithoutPackages({ apt, npm, pip }: JoinedPackages): boolean {
  return apt.length + npm.length + pip.length === 0
}
