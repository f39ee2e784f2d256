import { promises } from 'node:fs'
import type { HeartbeatContext } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { DataFiles } from '../files/data-files.ts'
import { createDailyLog, heartbeatLogFolder } from './daily-log.ts'
import type { DailyLog } from './daily-log.ts'
import type { Workspace } from './workspace.ts'

const dailyLogsMaxChars = 8000
const heartbeatLogsMaxChars = 2000
const logDays = 2
const dayMs = 24 * 3600 * 1000

export interface HeartbeatSources {
  readonly workspace: Workspace
  readonly files: DataFiles
  readonly dataDirectory: string
  readonly clock: Clock
}

/**
 * The inputs of the decision whether a heartbeat is worth a model call. Logs are those of today and yesterday
 * (UTC); activity is what people, tasks and other agents caused, and never what heartbeats did.
 */
export async function readHeartbeatContext(sources: HeartbeatSources): Promise<HeartbeatContext> {
  const rules = await sources.workspace.read('HEARTBEAT.md')
  const logs = await readLogs(sources, createDailyLog(sources), dailyLogsMaxChars)
  const heartbeatLog = createDailyLog({ ...sources, folder: heartbeatLogFolder })
  return {
    heartbeat_rules: sanitizeForPrompt(rules),
    is_default_heartbeat: await sources.workspace.isDefault('HEARTBEAT.md'),
    daily_logs: logs,
    heartbeat_logs: await readLogs(sources, heartbeatLog, heartbeatLogsMaxChars),
    has_recent_activity: logs.trim() !== '',
    disk_used_percent: await diskUsedPercent(sources.dataDirectory),
  }
}

async function readLogs({ clock }: HeartbeatSources, log: DailyLog, maxChars: number): Promise<string> {
  const logs: string[] = []
  for (let daysAgo = logDays - 1; daysAgo >= 0; daysAgo -= 1) {
    const day = new Date(clock.now() - daysAgo * dayMs).toISOString().slice(0, 10)
    const content = await log.read(day).catch((error: unknown) => {
      if (error instanceof Problem) return null
      throw error
    })
    if (content) logs.push(`## ${day}\n${content}`)
  }
  // The newest lines matter, so the beginning is left out.
  return sanitizeForPrompt(logs.join('\n\n').slice(-maxChars))
}

/** Returns the used share of the space that unprivileged users can have, as `df` does; null if unknown. */
async function diskUsedPercent(directory: string): Promise<number | null> {
  const found = await promises.statfs(directory).catch(() => null)
  if (!found || found.blocks === 0) return null
  const used = found.blocks - found.bfree
  const reachable = used + found.bavail
  return reachable === 0 ? null : Math.round((used / reachable) * 1000) / 10
}
