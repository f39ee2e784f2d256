import type { DataUse } from '../../sandbox/index.ts'
import { fileCountMax } from '../../sandbox/index.ts'

/** Returns null while an agent's data is within its limit; else why the agent must not run, for its owner. Pure. */
export function judgeData(agentId: string, use: DataUse, limitBytes: number): string | null {
  const over = overLimit(use, limitBytes)
  if (over === null) return null
  return `data-full: ${agentId} ${over} below /data. Free space there, or raise data_limit_mb in config/settings.json, then: flotilla restart ${agentId}`
}

function overLimit(use: DataUse, limitBytes: number): string | null {
  const atLeast = use.complete ? '' : 'at least '
  if (use.bytes > limitBytes) return `has ${atLeast}${inMb(use.bytes)} of ${inMb(limitBytes)}`
  const filesMax = fileCountMax(limitBytes)
  return use.files > filesMax ? `has ${atLeast}${use.files} of ${filesMax} files` : null
}

function inMb(bytes: number): string {
  return `${Math.ceil(bytes / (1024 * 1024))} MB`
}
