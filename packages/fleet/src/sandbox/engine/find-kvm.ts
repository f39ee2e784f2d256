import { access, readFile, stat } from 'node:fs/promises'

const device = '/dev/kvm'

export interface KvmDevice {
  readonly device: string
  /** Id of the group whose members may use the device. */
  readonly group: number
}

/**
 * Returns the KVM device if the processor supports virtualization, else null: the device file alone proves nothing.
 */
export async function findKvm(): Promise<KvmDevice | null> {
  const about = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const isThere = await access(device).then(
    () => true,
    () => false,
  )
  if (!isThere || !/^flags\s*:.*\b(?:vmx|svm)\b/m.test(about)) return null
  return { device, group: (await stat(device)).gid }
}
