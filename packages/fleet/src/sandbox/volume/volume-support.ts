import type { DataBound } from '../sandbox-runtime.ts'

/** Programs that create and repair volumes; Debian has them in `e2fsprogs` and `mount`. */
export const volumePrograms = ['mkfs.ext4', 'e2fsck', 'resize2fs', 'debugfs', 'losetup'] as const

export interface VolumeFacts {
  /** The user id of the mesh. */
  readonly uid: number
  readonly flavour: 'docker' | 'podman'
  /** The engine's security options in its own format, such as `name=userns`. */
  readonly securityOptions: readonly string[]
  readonly missingPrograms: readonly string[]
  readonly hasLoopDevices: boolean
}

/** Returns whether agents can get volumes of a fixed size on this machine, and if not, the reason. Pure. */
export function volumeSupport(facts: VolumeFacts): DataBound {
  const why = reason(facts)
  return why === null ? { kind: 'volume' } : { kind: 'meter', why }
}

function reason(facts: VolumeFacts): string | null {
  if (facts.uid !== 0) return 'the mesh does not run as root'
  if (facts.flavour !== 'docker') return `volumes of a fixed size are not supported with ${facts.flavour}`
  if (facts.securityOptions.some((option) => option.includes('userns')))
    return 'the engine maps user ids (userns-remap)'
  if (facts.missingPrograms.length > 0)
    return `${facts.missingPrograms.join(', ')} not installed (apt-get install -y e2fsprogs mount)`
  return facts.hasLoopDevices ? null : 'this machine has no loop devices (/dev/loop-control)'
}
