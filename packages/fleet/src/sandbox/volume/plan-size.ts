import type { Ext4Size } from './ext4-size.ts'

export type SizePlan =
  | { readonly kind: 'keep' }
  | { readonly kind: 'grow' }
  | { readonly kind: 'shrink' }
  /** The limit is below the size of the stored data: the volume keeps its size. */
  | { readonly kind: 'refuse'; readonly reason: string }

/** A volume whose size differs from the limit by less is not resized: file systems end at whole block groups. */
const sameWithinBytes = 1024 * 1024

/** Decides what to do with a volume whose limit changed. Pure. */
export function planSize(now: Ext4Size, limitBytes: number): SizePlan {
  if (Math.abs(now.sizeBytes - limitBytes) < sameWithinBytes) return { kind: 'keep' }
  if (limitBytes > now.sizeBytes) return { kind: 'grow' }
  if (limitBytes > now.usedBytes) return { kind: 'shrink' }
  return { kind: 'refuse', reason: refusedWords(now, limitBytes) }
}

export function refusedWords(now: Ext4Size, limitBytes: number): string {
  return `the limit of ${inMb(limitBytes)} is smaller than the data of the agent (${inMb(now.usedBytes)}), so its volume keeps ${inMb(now.sizeBytes)}; free space below /data and restart the agent, or raise data_limit_mb in config/settings.json`
}

export function inMb(bytes: number): string {
  return `${Math.ceil(bytes / (1024 * 1024))} MB`
}
