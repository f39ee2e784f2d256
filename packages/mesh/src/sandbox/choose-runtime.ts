import { SandboxError } from './sandbox-error.ts'
import type { SandboxRuntime } from './sandbox-runtime.ts'

/** Names that an owner may give in `FLOTILLA_SANDBOX`. */
export const runtimeNames = ['docker', 'process', 'fake'] as const
export type RuntimeName = (typeof runtimeNames)[number]

/** Containers unless the owner asked for something else by name; rejects unknown names with `SandboxError`. Pure. */
export function runtimeName(asked: string | undefined): RuntimeName {
  if (asked === undefined || asked === '') return 'docker'
  const name = runtimeNames.find((known) => known === asked)
  if (name) return name
  throw new SandboxError(
    'runtime-unknown',
    `There is no sandbox runtime named ${asked}.\nRepair: set FLOTILLA_SANDBOX to ${runtimeNames.join(', ')}, or unset it.`,
  )
}

/** Makes the runtime of that name; the others are not even built. */
export function chooseRuntime(
  name: RuntimeName,
  makers: Readonly<Record<RuntimeName, () => SandboxRuntime>>,
): SandboxRuntime {
  return makers[name]()
}
