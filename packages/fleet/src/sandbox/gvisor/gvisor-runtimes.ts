import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'

/** A gVisor runtime that is registered in an engine by name. */
export interface GvisorRuntime {
  readonly name: string
  /** A description of the runtime for people. */
  readonly detail: string
}

const infoSchema = z.looseObject({
  Runtimes: z
    .record(
      z.string(),
      z.looseObject({ path: z.string().nullish(), runtimeArgs: z.array(z.string()).nullish() }),
    )
    .nullish(),
})

/** The platforms and network stacks of `runsc`, best first. */
const platforms = ['kvm', 'systrap', 'ptrace'] as const
const networks = ['sandbox', 'host'] as const

type Platform = (typeof platforms)[number]

/** Lists the registered gVisor runtimes, in the order in which to try them. */
export async function gvisorRuntimes({ docker }: Engine): Promise<readonly GvisorRuntime[]> {
  const { Runtimes } = infoSchema.parse(await docker.info())
  return Object.entries(Runtimes ?? {})
    .filter(([name, { path }]) => /^(?:runsc|gvisor)|\/runsc$/.test(`${name}\n${path ?? ''}`) || isOurs(name))
    .map(([name, { runtimeArgs }]) => ({ name, detail: detailOf(name, runtimeArgs ?? []) }))
    .toSorted((one, other) => rankOf(one.name) - rankOf(other.name))
}

/** Returns the runtime entries for the settings file of an engine that the mesh started. Pure. */
export function runtimeEntries(
  runscPath: string,
  { virtualizes }: { readonly virtualizes: boolean },
): Readonly<Record<string, { readonly path: string; readonly runtimeArgs: readonly string[] }>> {
  return Object.fromEntries(
    platforms
      // With a KVM device but no virtualization, gVisor's KVM platform uses processor time and never starts.
      .filter((platform) => platform !== 'kvm' || virtualizes)
      .flatMap((platform) =>
        networks.map((network) => [
          ourName(platform, network),
          {
            path: runscPath,
            runtimeArgs: [`--platform=${platform}`, `--network=${network}`, filterArgument],
          },
        ]),
      ),
  )
}

/** Makes gVisor apply the seccomp filter inside: otherwise programs create user namespaces, where no limit holds. */
export const filterArgument = '--oci-seccomp'

const prefix = 'flotilla-gvisor-'
const ourName = (platform: Platform, network: string): string => `${prefix}${platform}-${network}`
const isOurs = (name: string): boolean => name.startsWith(prefix)

/** Ranks runtimes that the owner set up before those of the mesh; lower is tried first. */
function rankOf(name: string): number {
  if (!isOurs(name)) return -1
  return platforms.flatMap((platform) => networks.map((network) => ourName(platform, network))).indexOf(name)
}

function detailOf(name: string, runtimeArgs: readonly string[]): string {
  const args = runtimeArgs
    .filter((arg) => arg !== filterArgument)
    .map((arg) => arg.replace(/^--/, '').replace('=', ' '))
  return args.length === 0 ? `gVisor, engine runtime ${name}` : `gVisor with ${args.join(', ')}`
}
